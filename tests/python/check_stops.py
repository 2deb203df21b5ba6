#!/usr/bin/env python3
"""check_stops.py HF_FOLDER EOS PROMPT_ID...: generate() ends where the model foretells EOS, and all files of the folder name that end.

EOS is the token that ended the documents of training. Exit codes: 0 so, 1 otherwise.
"""

import json
import os
import sys
import types

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# generate() asks whether the model is of FSDP, which Debian 12's PyTorch cannot import.
torch.distributed.fsdp = types.SimpleNamespace(FullyShardedDataParallel=type("NoFsdp", (), {}))
sys.modules["torch.distributed.fsdp"] = torch.distributed.fsdp

folder, eos, *prompt = sys.argv[1], *map(int, sys.argv[2:])


def ends(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        value = json.load(file)["eos_token_id"]
    return value if isinstance(value, list) else [value]


named = ends("config.json")
if eos not in named or ends("generation_config.json") != named:
    sys.exit(f"config.json ends texts with {named}, generation_config.json with {ends('generation_config.json')}, the data with {eos}")
if os.path.exists(os.path.join(folder, "tokenizer_config.json")):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.eos_token_id not in named:
        sys.exit(f"tokenizer_config.json ends texts with {tokenizer.eos_token!r}, {tokenizer.eos_token_id}, config.json with {named}")
model = AutoModelForCausalLM.from_pretrained(folder, torch_dtype=torch.float32, attn_implementation="eager")
torch.set_num_threads(1)
ids = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=20)[0].tolist()
if ids[-1] != eos or len(ids) - len(prompt) == 20:
    sys.exit(f"{ids} does not end with {eos}")
print(f"{ids[len(prompt):]} ends, {named}")
