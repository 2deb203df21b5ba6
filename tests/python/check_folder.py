#!/usr/bin/env python3
"""check_folder.py HF_FOLDER TEXT SHARD_H5: AutoTokenizer makes of the file TEXT the shard's tokens, and back, and AutoModelForCausalLM
of the same folder goes on.

The shard holds TEXT alone, ended by the token that ends a document. Exit codes: 0 so, 1 otherwise.
"""

import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import h5py
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, text_path, shard = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
with open(text_path, encoding="utf-8", newline="") as file:
    text = file.read()
with h5py.File(shard) as file:
    expected = [int(token) for token in file["tokens"][:]]

ids = tokenizer(text, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
if ids != expected:
    sys.exit(f"{len(ids)} tokens are not the shard's {len(expected)}")
if tokenizer.decode(ids[:-1]) != text:
    sys.exit("decoding gives another text")
model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
with torch.no_grad():
    next_id = int(model(torch.tensor([ids[:16]])).logits[0, -1].argmax())
print(f"{len(ids)} tokens, and after 16 of them {tokenizer.decode([next_id])!r}")
