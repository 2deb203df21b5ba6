#!/usr/bin/env python3
"""Compare /logits [N, T, V] of an HDF5 file with what transformers computes for its /tokens [N, T].

Prints the largest ||difference|| / ||reference|| over the sequences.
Exit codes: 0 within the tolerance, 2 usage, 3 unfit input, 5 beyond the tolerance or parameters missing or unknown.
"""

import argparse
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import h5py
import numpy as np
import torch
from transformers import AutoModelForCausalLM

BATCH = 8


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="HF_FOLDER")
    parser.add_argument("logits", metavar="LOGITS_H5")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    return parser.parse_args()


def load_model(folder):
    """The model in fp32 and, as text, what was wrong with its parameters."""
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, torch_dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    faults = [f"{kind}: {', '.join(map(str, names))}" for kind, names in report.items() if names]
    return model.eval(), "; ".join(faults)


def largest_difference(model, tokens_NT, logits_NTV):
    largest = 0.0
    for first in range(0, len(tokens_NT), BATCH):
        tokens_BT = torch.from_numpy(tokens_NT[first:first + BATCH].astype("int64"))
        with torch.no_grad():
            reference_BTV = model(tokens_BT).logits.double().numpy()
        difference_BTV = logits_NTV[first:first + BATCH].astype("float64") - reference_BTV
        norms = [np.sqrt((x_BTV ** 2).sum(axis=(1, 2))) for x_BTV in (difference_BTV, reference_BTV)]
        largest = np.maximum(largest, np.max(norms[0] / norms[1]))  # NaN stays NaN
    return largest


def main():
    arguments = parse_arguments()
    try:
        model, faults = load_model(arguments.folder)
        with h5py.File(arguments.logits) as file:
            tokens_NT, logits_NTV = file["tokens"][:], file["logits"][:]
    except Exception as error:  # the libraries raise anything from OSError to AttributeError for bad files
        print(f"check_hf.py: {error}", file=sys.stderr)
        return 3
    if faults:
        print(f"check_hf.py: {arguments.folder}: {faults}", file=sys.stderr)
        return 5
    expected = (*tokens_NT.shape, model.config.vocab_size)
    if tokens_NT.ndim != 2 or len(tokens_NT) == 0 or logits_NTV.shape != expected:
        print(f"check_hf.py: {arguments.logits}: /tokens {tokens_NT.shape} needs /logits {expected}, "
              f"not {logits_NTV.shape}", file=sys.stderr)
        return 3
    largest = largest_difference(model, tokens_NT, logits_NTV)
    print(f"{largest:.3e}")
    return 0 if largest <= arguments.tolerance else 5


if __name__ == "__main__":
    sys.exit(main())
