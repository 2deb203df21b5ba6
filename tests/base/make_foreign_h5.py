"""make_foreign_h5.py FILE: writes foreign.h5, a file as other programs write them (needs h5py)."""

import sys

import h5py
import numpy as np

with h5py.File(sys.argv[1], "w") as f:
    f.attrs["variable"] = "variable text"
    f.attrs["fixed"] = np.bytes_("fixed")
    f.attrs["list"] = [1, 2, 3]
    f.create_dataset("good", data=np.array([1, 2, 3], "<i4")).attrs["small"] = np.int16(7)
    f.create_dataset("half", data=np.array([1, 2], "<f2"))
    f.create_dataset("group/big_endian", data=np.array([1, 2], ">f4"))
    f.create_dataset("text", data=["a", "bc"])
    f.create_dataset("chunked", data=np.arange(64, dtype="<u4"), chunks=(16,), compression="gzip")
    f.create_dataset("unwritten", shape=(4,), dtype="<f4")
    f["alias"] = h5py.SoftLink("/good")
    f["dangling"] = h5py.SoftLink("/nowhere")
