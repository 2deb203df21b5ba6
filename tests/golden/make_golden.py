#!/usr/bin/env python3
"""Write the golden files: tiny random models with the logits, loss and gradients that transformers computes.

usage: make_golden.py [OUT_DIR]    (default: this script's directory; README.md there says what the files hold)
"""

import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # Qwen2 doubts that eager attention has windows; its mask does
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import h5py
import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from transformers import GPT2Config, LlamaConfig, MistralConfig, Qwen2Config

from random_model import random_model, random_tokens


def gpt2(tied, **sizes):
    return GPT2Config(n_embd=24, n_head=3, n_layer=2, embd_pdrop=0.0, attn_pdrop=0.0, resid_pdrop=0.0,
                      bos_token_id=0, eos_token_id=0, tie_word_embeddings=tied, **sizes)


def llama_like(config, tied, **sizes):
    return config(**{"vocab_size": 97, "max_position_embeddings": 32, "bos_token_id": 0, "eos_token_id": 0,
                     "tie_word_embeddings": tied, **sizes})


def llama(tied, **sizes):
    return llama_like(LlamaConfig, tied, **sizes)


# name: (config, batch, sequence length)
MODELS = {
    "gpt2_tied": (gpt2(True, vocab_size=61, n_positions=80), 2, 70),
    "gpt2_untied": (gpt2(False, vocab_size=97, n_positions=16), 2, 13),
    "llama_mha_untied": (llama(False, hidden_size=24, intermediate_size=40, num_hidden_layers=3,
                               num_attention_heads=3), 2, 13),
    "llama_gqa_tied": (llama(True, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                             num_attention_heads=4, num_key_value_heads=2), 2, 13),
    "llama_gqa_untied": (llama(False, hidden_size=24, intermediate_size=40, num_hidden_layers=3,
                               num_attention_heads=6, num_key_value_heads=2, head_dim=6,
                               rope_theta=500000.0, rms_norm_eps=3e-5), 2, 13),
    # Of the eight wavelengths one is below 64 / 4, two lie between, five above 64 / 1.
    "llama3_rope_biases": (llama(False, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                 num_attention_heads=4, num_key_value_heads=2, head_dim=16,
                                 max_position_embeddings=128, attention_bias=True, mlp_bias=True,
                                 rope_scaling={"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
                                               "high_freq_factor": 4.0,
                                               "original_max_position_embeddings": 64}), 2, 50),
    "mistral_window": (llama_like(MistralConfig, False, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                  num_attention_heads=4, num_key_value_heads=2, head_dim=8, sliding_window=5),
                       2, 13),
    "qwen2_tied": (llama_like(Qwen2Config, True, hidden_size=32, intermediate_size=44, num_hidden_layers=2,
                              num_attention_heads=4, num_key_value_heads=2, rope_theta=1000000.0), 2, 13),
    "qwen2_window": (llama_like(Qwen2Config, False, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                                num_attention_heads=3, num_key_value_heads=1, use_sliding_window=True,
                                sliding_window=4, max_window_layers=0), 2, 13),
}
BF16_MODELS = ["gpt2_untied", "llama3_rope_biases", "mistral_window", "qwen2_tied"]


class OnlyFloat64(TorchFunctionMode):
    """Gives float64 wherever the code inside asks for float32, as transformers does for RMSNorm, softmax and
    RoPE whatever the model's dtype, and proves that no float32 tensor arises."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        def widen(value):
            return torch.float64 if value is torch.float32 else value

        if function is torch.Tensor.float:
            function = torch.Tensor.double
        result = function(*map(widen, args), **{key: widen(value) for key, value in (kwargs or {}).items()})
        assert not (isinstance(result, torch.Tensor) and result.dtype is torch.float32), function
        return result


def mean_loss(logits_BTV, labels_BT):
    return torch.nn.functional.cross_entropy(logits_BTV.flatten(0, 1), labels_BT.flatten())


def check_gradients(model, tokens_BT, labels_BT, step=1e-6):
    """Compares each parameter's fp64 gradient with central differences along a random direction."""
    for name, parameter in model.named_parameters():
        direction = torch.randn_like(parameter)
        losses = []
        with torch.no_grad():
            for change in (step, -2 * step):
                parameter += change * direction
                losses.append(mean_loss(model(tokens_BT).logits, labels_BT).item())
            parameter += step * direction
        numeric = (losses[0] - losses[1]) / (2 * step)
        analytic = (parameter.grad * direction).sum().item()
        assert abs(numeric - analytic) < 1e-8 + 5e-6 * abs(numeric), (name, numeric, analytic)


def storable(values):
    """HDF5 has no bfloat16; float32 holds its values exactly."""
    return (values.float() if values.dtype is torch.bfloat16 else values).numpy()


def write(path, model, tokens_BT, labels_BT, logits_BTV, loss):
    with h5py.File(path, "w") as file:
        file.attrs["config"] = np.bytes_(model.config.to_json_string())
        file["tokens"] = tokens_BT.numpy().astype("int32")
        file["labels"] = labels_BT.numpy().astype("int32")
        file["logits"] = storable(logits_BTV)
        file["loss"] = storable(loss)
        for name, parameter in model.named_parameters():  # a tied matrix comes once
            file[f"weights/{name}"] = storable(parameter.detach())
            file[f"gradients/{name}"] = storable(parameter.grad)


def add_exact(path, model, logits_BTV, loss):
    """Adds what a model gives in fp64, rounded to fp32."""
    with h5py.File(path, "a") as file:
        file["exact/logits"] = logits_BTV.numpy().astype("float32")
        file["exact/loss"] = loss.numpy().astype("float32")
        for name, parameter in model.named_parameters():
            file[f"exact/gradients/{name}"] = parameter.grad.numpy().astype("float32")


def run(model, tokens_BT, labels_BT):
    """Logits and loss, with gradients left in the model."""
    dtype = model.dtype
    low = dtype is torch.bfloat16
    logits_BTV = model(tokens_BT).logits
    loss = mean_loss(logits_BTV.float() if low else logits_BTV, labels_BT)
    loss.backward()
    assert all(x.dtype is dtype for x in (logits_BTV, *(p.grad for p in model.parameters())))
    assert loss.dtype is (torch.float32 if low else dtype)
    return logits_BTV.detach(), loss.detach()


def make(path, config, batch, length, seed, dtype):
    stream = random_tokens((batch, length + 1), config.vocab_size, seed)
    tokens_BT, labels_BT = stream[:, :-1], stream[:, 1:]
    # Made in its dtype, as from_pretrained does: a model cast later would have cast RoPE's frequencies as well.
    model = random_model(config, seed, dtype)
    write(path, model, tokens_BT, labels_BT, *run(model, tokens_BT, labels_BT))
    if dtype is torch.float64:
        check_gradients(model, tokens_BT, labels_BT)
    if dtype is torch.bfloat16:
        with OnlyFloat64():
            exact = random_model(config, seed, torch.float64)
            with torch.no_grad():
                for mine, rounded in zip(exact.parameters(), model.parameters()):
                    mine.copy_(rounded)
            add_exact(path, exact, *run(exact, tokens_BT, labels_BT))


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    torch.set_num_threads(1)
    for seed, (name, shape) in enumerate(MODELS.items(), start=1):
        make(out / f"{name}.f32.h5", *shape, seed, torch.float32)
        with OnlyFloat64():
            make(out / f"{name}.f64.h5", *shape, seed, torch.float64)
        if name in BF16_MODELS:
            make(out / f"{name}.bf16.h5", *shape, seed, torch.bfloat16)


if __name__ == "__main__":
    main()
