#!/usr/bin/env python3
"""Save a tiny random Hugging Face model folder and, if asked, tokens with the logits it gives for them."""

import argparse
import os

os.environ["HF_HUB_OFFLINE"] = "1"

import h5py
import torch
from transformers import GPT2Config, LlamaConfig, MistralConfig, Qwen2Config

from random_model import random_model, random_tokens

ROPE_SCALINGS = {
    "linear": {"rope_type": "linear", "factor": 2.0},
    "llama3": {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 40},
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", metavar="OUT_DIR")
    parser.add_argument("--family", choices=["gpt2", "llama", "mistral", "qwen2"], required=True)
    tying = parser.add_mutually_exclusive_group()
    tying.add_argument("--tied", dest="tied", action="store_true", default=None)
    tying.add_argument("--untied", dest="tied", action="store_false", help="default: tied for gpt2, untied for the others")
    parser.add_argument("--kv-heads", type=int, choices=[1, 2, 4], help="not gpt2 (default: 4, of 4 heads)")
    parser.add_argument("--window", type=int, help="mistral and qwen2 only (default: none)")
    parser.add_argument("--rope", choices=["linear", "llama3"], help="llama and qwen2 only (default: unscaled)")
    parser.add_argument("--biases", action="store_true", help="llama only: attention_bias and mlp_bias")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logits-out", metavar="FILE.h5", help="write /tokens [N, T] and /logits [N, T, V]")
    parser.add_argument("--sequences", type=int, default=4, metavar="N")
    parser.add_argument("--length", type=int, default=13, metavar="T", help="at most 80 (default: 13)")
    arguments = parser.parse_args()
    if arguments.family == "gpt2" and arguments.kv_heads is not None:
        parser.error("--kv-heads: gpt2 has no key-value heads of its own")
    if arguments.window is not None and arguments.family not in ("mistral", "qwen2"):
        parser.error(f"--window: {arguments.family} has none")
    if arguments.rope is not None and arguments.family not in ("llama", "qwen2"):
        parser.error(f"--rope: {arguments.family} has no rope_scaling")
    if arguments.biases and arguments.family != "llama":
        parser.error(f"--biases: {arguments.family} leaves no choice")
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
    sizes = {"vocab_size": 300, "max_position_embeddings": 80, "hidden_size": 48, "intermediate_size": 88,
             "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": arguments.kv_heads or 4}
    if arguments.rope:
        sizes["rope_scaling"] = ROPE_SCALINGS[arguments.rope]
    if arguments.family == "mistral":
        return MistralConfig(head_dim=16, sliding_window=arguments.window, **sizes, **special)
    if arguments.family == "qwen2":
        window = {"use_sliding_window": True, "sliding_window": arguments.window, "max_window_layers": 0}
        return Qwen2Config(**(window if arguments.window else {}), **sizes, **special)
    return LlamaConfig(attention_bias=arguments.biases, mlp_bias=arguments.biases, **sizes, **special)


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
