#!/usr/bin/env python3
"""Save a tiny random Hugging Face model folder and, if asked, tokens with the logits it gives for them."""

import argparse
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import h5py
import torch
from transformers import GPT2Config, LlamaConfig

from random_model import random_model, random_tokens


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="OUT_DIR")
    parser.add_argument("--family", choices=["gpt2", "llama"], required=True)
    tying = parser.add_mutually_exclusive_group()
    tying.add_argument("--tied", dest="tied", action="store_true", default=None)
    tying.add_argument("--untied", dest="tied", action="store_false", help="default: tied for gpt2, untied for llama")
    parser.add_argument("--kv-heads", type=int, choices=[1, 2, 4], help="llama only (default: 4, of 4 heads)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logits-out", metavar="FILE.h5", help="write /tokens [N, T] and /logits [N, T, V]")
    parser.add_argument("--sequences", type=int, default=4, metavar="N")
    parser.add_argument("--length", type=int, default=13, metavar="T", help="at most 80 (default: 13)")
    arguments = parser.parse_args()
    if arguments.family == "gpt2" and arguments.kv_heads is not None:
        parser.error("--kv-heads: gpt2 has no key-value heads of its own")
    if not 1 <= arguments.length <= 80:
        parser.error(f"--length {arguments.length}: not in 1 ... 80")
    if arguments.sequences < 1:
        parser.error(f"--sequences {arguments.sequences}: not positive")
    if arguments.tied is None:
        arguments.tied = arguments.family == "gpt2"
    return arguments


def make_config(arguments):
    special = {"bos_token_id": 96, "eos_token_id": 96, "tie_word_embeddings": arguments.tied}
    if arguments.family == "gpt2":
        dropout = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
        return GPT2Config(vocab_size=300, n_positions=80, n_embd=48, n_head=3, n_layer=3, **dropout, **special)
    return LlamaConfig(vocab_size=300, max_position_embeddings=80, hidden_size=48, intermediate_size=88,
                       num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=arguments.kv_heads or 4,
                       **special)


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    model = random_model(make_config(arguments), arguments.seed)
    model.save_pretrained(arguments.folder)
    if arguments.logits_out:
        tokens_NT = random_tokens((arguments.sequences, arguments.length), model.config.vocab_size, arguments.seed)
        with torch.no_grad():
            logits_NTV = model(tokens_NT).logits
        with h5py.File(arguments.logits_out, "w") as file:
            file["tokens"] = tokens_NT.numpy().astype("int32")
            file["logits"] = logits_NTV.numpy()


if __name__ == "__main__":
    main()
