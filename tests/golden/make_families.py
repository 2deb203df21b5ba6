#!/usr/bin/env python3
"""Write the golden files of families that transformers 4 lacks or computes otherwise; in fp64.

usage: make_families.py [OUT_DIR]    (default: this script's directory; README.md there says what the files hold)
       make_families.py --folders OUT_DIR    (instead, each model as a folder that transformers saves, for 300 tokens)

Needs the Python of tests/python/setup_venv.sh with requirements-golden.txt.
"""

import pathlib
import sys

import h5py
import torch
import transformers as t

from make_golden import HERE, OnlyFloat64, make  # also finds random_model
from random_model import random_model

SIZES = {"vocab_size": 61, "hidden_size": 24, "intermediate_size": 36, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}
SLIDES = ["sliding_attention", "full_attention", "sliding_attention"]


def sized(config, **members):
    return config(**{**SIZES, **members})


def rope(kind, theta, **members):
    return {"rope_type": kind, "rope_theta": theta, **members}


YARN = {"factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 4.0, "beta_slow": 1.0}
LONG = {"short_factor": [1.0, 1.2, 1.5], "long_factor": [1.5, 2.0, 4.0], "original_max_position_embeddings": 16}

# name: (config, batch, sequence length)
MODELS = {
    "qwen3": (sized(t.Qwen3Config, head_dim=8, tie_word_embeddings=True, rope_parameters=rope("default", 1e6)), 2, 13),
    "qwen3_yarn": (sized(t.Qwen3Config, head_dim=10, attention_bias=True, use_sliding_window=True, sliding_window=5,
                         max_window_layers=1, rope_parameters=rope("yarn", 1e4, **YARN)), 2, 23),
    "gemma2": (sized(t.Gemma2Config, num_hidden_layers=3, head_dim=8, sliding_window=5, query_pre_attn_scalar=6,
                     attn_logit_softcapping=2.0, final_logit_softcapping=3.0), 2, 13),
    "gemma3": (sized(t.Gemma3TextConfig, num_hidden_layers=3, head_dim=8, sliding_window=5, query_pre_attn_scalar=6,
                     layer_types=SLIDES, final_logit_softcapping=4.0, rope_parameters={
                         "full_attention": rope("linear", 1e6, factor=8.0), "sliding_attention": rope("default", 1e4)}), 2, 13),
    "olmo2": (sized(t.Olmo2Config, num_attention_heads=6, rope_parameters=rope("default", 5e5)), 2, 13),
    "olmo3": (sized(t.Olmo3Config, num_hidden_layers=3, sliding_window=5, layer_types=SLIDES, rope_parameters={
        "full_attention": rope("yarn", 5e5, **YARN), "sliding_attention": rope("default", 5e5)}), 2, 23),
    "phi3_short": (sized(t.Phi3Config, hidden_size=32, tie_word_embeddings=True, original_max_position_embeddings=16,
                         rope_parameters={**rope("longrope", 1e4, partial_rotary_factor=0.75), **LONG}), 2, 13),
    "phi3_long": (sized(t.Phi3Config, hidden_size=32, sliding_window=7, original_max_position_embeddings=16,
                        rope_parameters={**rope("longrope", 1e4, partial_rotary_factor=0.75), **LONG}), 2, 23),
    "smollm3": (sized(t.SmolLM3Config, num_hidden_layers=3, no_rope_layers=[1, 0, 1],
                      rope_parameters=rope("default", 2e6)), 2, 13),
    "granite": (sized(t.GraniteConfig, embedding_multiplier=1.7, attention_multiplier=0.3, residual_multiplier=0.22,
                      logits_scaling=1.3, attention_bias=True, mlp_bias=True), 2, 13),
    "glm4": (sized(t.Glm4Config, head_dim=12, rope_parameters=rope("default", 1e4, partial_rotary_factor=0.5)), 2, 13),
    "cohere2": (sized(t.Cohere2Config, num_hidden_layers=3, sliding_window=5, layer_types=SLIDES, logit_scale=0.3,
                      rope_parameters=rope("default", 1e4)), 2, 13),
    "gpt_neox": (sized(t.GPTNeoXConfig, hidden_size=36, num_attention_heads=3,
                       rope_parameters=rope("default", 1e4, partial_rotary_factor=0.25)), 2, 13),
    "gpt_neox_serial": (sized(t.GPTNeoXConfig, num_attention_heads=2, use_parallel_residual=False, hidden_act="gelu_new",
                              rope_parameters=rope("default", 1e4, partial_rotary_factor=1.0)), 2, 13),
    "ministral": (sized(t.MinistralConfig, num_hidden_layers=3, head_dim=8, sliding_window=5, layer_types=SLIDES), 2, 13),
    "ministral3": (sized(t.Ministral3Config, head_dim=8, rope_parameters=rope(
        "yarn", 1e6, **YARN, llama_4_scaling_beta=0.1, max_position_embeddings=64)), 2, 37),
}


def rename_head(path):
    """Gives the head the name that checkpoints have, and not the model in memory."""
    with h5py.File(path, "a") as file:
        for kind in ("weights", "gradients"):
            file.move(f"{kind}/lm_head.weight", f"{kind}/embed_out.weight")


def save_folders(out):
    for seed, (name, (config, _, _)) in enumerate(MODELS.items(), start=201):
        config.vocab_size = 300
        random_model(config, seed).save_pretrained(out / name)


def main():
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["--folders"]:
        return save_folders(pathlib.Path(sys.argv[2]))
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    torch.set_default_dtype(torch.float64)  # quotients of integers, too
    for seed, (name, shape) in enumerate(MODELS.items(), start=101):
        with OnlyFloat64():
            make(out / f"{name}.f64.h5", *shape, seed, torch.float64)
        if name.startswith("gpt_neox"):
            rename_head(out / f"{name}.f64.h5")


if __name__ == "__main__":
    main()
