#!/usr/bin/env python3
"""check_rounding.py FOLDER OTHER: OTHER's tensors are FOLDER's as PyTorch casts them, and load in that type by themselves."""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

expected, actual = (load_file(os.path.join(folder, "model.safetensors")) for folder in sys.argv[1:3])
assert expected.keys() == actual.keys(), "other tensors"
for name, values in actual.items():
    assert torch.equal(values, expected[name].to(values.dtype)), name
dtype = next(iter(actual.values())).dtype
assert dtype in (torch.bfloat16, torch.float16), dtype
assert AutoModelForCausalLM.from_pretrained(sys.argv[2], torch_dtype="auto").dtype == dtype, "torch_dtype"
