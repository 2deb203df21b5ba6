#!/usr/bin/env python3
"""Print transformers' mean loss of a dataset's whole validation split: windows of SEQUENCE_LENGTH tokens, one after the other.

  hf_loss.py HF_FOLDER VALIDATION_SHARD SEQUENCE_LENGTH
"""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import h5py
import torch
from transformers import AutoModelForCausalLM

BATCH = 8


def windows(shard, length):
    """Each with the first token of the next, which its last is to foretell."""
    with h5py.File(shard) as file:
        tokens = torch.from_numpy(file["tokens"][:].astype("int64"))
    return tokens.unfold(0, length + 1, length)


def main():
    folder, shard, length = sys.argv[1:]
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32, attn_implementation="eager").eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in windows(shard, int(length)).split(BATCH):
            logits = model(batch[:, :-1]).logits.double().flatten(0, 1)
            total += torch.nn.functional.cross_entropy(logits, batch[:, 1:].flatten(), reduction="sum").item()
            count += batch[:, 1:].numel()
    print(total / count)


if __name__ == "__main__":
    main()
