"""make_versions_h5.py FOLDER: writes versions/hdf5-VERSION-BOUND.h5, what h5py's HDF5 writes for each bound (needs h5py).

Each has groups with few links and with many, objects with few attributes and with many, and what dt refuses.
"""

import os
import sys

import h5py
import numpy as np


def write(path, libver):
    with h5py.File(path, "w", libver=libver) as f:
        f.attrs["format"] = np.bytes_("dt-test")
        f.attrs["version"] = np.int64(1)
        f.attrs["variable"] = "variable text"
        f.attrs["list"] = [1, 2, 3]
        f.attrs["real"] = 0.5
        f.attrs["padded"] = np.array(b"text  ", h5py.string_dtype("ascii", 6))
        for dtype in ("<i1", "<u2", ">i4", "<u8"):
            f.attrs["number " + dtype] = np.array(-3, dtype) if dtype[1] == "i" else np.array(200, dtype)
        f.attrs["too large"] = np.array(2**64 - 1, "<u8")
        for dtype in ("f8", "f4", "f2", "i8", "i4", "u8", "u4", "u2", "u1"):
            f.create_dataset("types/" + dtype, data=np.arange(6).reshape(2, 3).astype("<" + dtype))
        f["types/refused"] = np.array([1, 2], ">f4")
        f["types/text"] = np.array([b"a", b"bc"])
        f["types/named"] = np.dtype("<i4")
        f["types"].create_dataset("of the named type", (2,), f["types/named"])
        f.create_dataset("chunked", data=np.arange(64, dtype="<u4"), chunks=(16,))
        f.create_dataset("filtered", data=np.arange(64, dtype="<u4"), chunks=(16,), compression="gzip")
        f.create_dataset("empty", (0, 5), "<f4")
        f.create_dataset("scalar", data=np.float64(2.5))
        f.create_dataset("unwritten", (4,), "<f4")
        f["none"] = h5py.Empty("<f4")
        f["soft"] = h5py.SoftLink("/scalar")
        f["external"] = h5py.ExternalLink("other.h5", "/scalar")
        few, many = f.create_group("few"), f.create_group("many")
        for i in range(3):
            few.create_dataset(f"layers.{i}", data=np.full(i + 1, i, "<u2"))
        for i in range(60):
            dataset = many.create_dataset(f"layers.{i}.attention.query.weight", data=np.full(2, i, "<f4"))
            if i == 7:
                for k in range(40):
                    dataset.attrs[f"attribute {k}"] = np.int64(k)
        f.create_group("within/two/others").create_dataset("d", data=np.arange(3, dtype="<i8"))


if __name__ == "__main__":
    folder = os.path.join(sys.argv[1], "versions")
    os.makedirs(folder, exist_ok=True)
    for bound in ("earliest", "v108", "v110", "v112", "v114", "v200", "latest"):
        name = os.path.join(folder, f"hdf5-{h5py.version.hdf5_version}-{bound}.h5")
        try:
            write(name, bound)
        except (KeyError, ValueError):  # a bound of newer libraries
            continue
