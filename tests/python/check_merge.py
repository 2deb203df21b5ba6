#!/usr/bin/env python3
"""Recompute what dt-merge writes, from the formats' descriptions alone.

  whole FOLDER CKPT            the folder's tensors are the checkpoint's weights, bit for bit
  moments FOLDER CKPT          its optimizer's are the checkpoint's moments
  equal FOLDER FOLDER          both hold the same tensors
  rounded FOLDER FOLDER TYPE   the second is the first in bf16 or fp16, to nearest, ties to even
  mean FOLDER HOW FOLDER...    the first is the mean of the others: weights=W,... or ema=DECAY

Exit codes: 0 as said, 1 otherwise.
"""

import glob
import json
import os
import struct
import sys

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "BF16": np.uint16}


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__")
    data = content[8 + length:]
    return {name: np.frombuffer(data[t["data_offsets"][0]:t["data_offsets"][1]], TYPES[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}


def read_folder(folder, stem="model"):
    single = os.path.join(folder, f"{stem}.safetensors")
    if os.path.exists(single):
        return read_safetensors(single)
    with open(single + ".index.json") as file:
        index = json.load(file)
    shards = {name: read_safetensors(os.path.join(folder, name)) for name in set(index["weight_map"].values())}
    assert len(glob.glob(os.path.join(folder, f"{stem}-*.safetensors"))) == len(shards), "files that the index lacks"
    assert sum(len(shard) for shard in shards.values()) == len(index["weight_map"]), "tensors that the index lacks"
    tensors = {name: shards[shard][name] for name, shard in index["weight_map"].items()}
    assert index["metadata"]["total_size"] == sum(t.nbytes for t in tensors.values()), "total_size"
    return tensors


def read_checkpoint(folder, kind):
    """By dt's names; pieces are intervals of whole tensors."""
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    flat = {}
    shapes = {}
    for piece in manifest["pieces"]:
        if piece["kind"] != kind:
            continue
        assert piece["box"] == piece["global"] and piece["dtype"] == "f32"
        shapes[piece["tensor"]] = piece["global"]
        whole = flat.setdefault(piece["tensor"], np.full(int(np.prod(piece["global"])), np.nan, np.float32))
        with open(os.path.join(folder, piece["file"]), "rb") as file:
            file.seek(piece["offset"])
            count = piece["end"] - piece["begin"]
            whole[piece["begin"]:piece["end"]] = np.frombuffer(file.read(4 * count), np.float32)
    return {name: values.reshape(shapes[name]) for name, values in flat.items()}


GPT2 = {"embedding.token": "wte", "embedding.position": "wpe", "attention_norm": "ln_1", "attention.output": "attn.c_proj",
        "mlp_norm": "ln_2", "mlp.up": "mlp.c_fc", "mlp.down": "mlp.c_proj", "final_norm": "ln_f"}
LLAMA = {"embedding.token": "embed_tokens", "attention_norm": "input_layernorm", "attention.q": "self_attn.q_proj",
         "attention.k": "self_attn.k_proj", "attention.v": "self_attn.v_proj", "attention.output": "self_attn.o_proj",
         "mlp_norm": "post_attention_layernorm", "mlp.gate": "mlp.gate_proj", "mlp.up": "mlp.up_proj",
         "mlp.down": "mlp.down_proj", "final_norm": "norm"}


def hugging_face(tensors):
    """Names and layouts of transformers."""
    is_gpt2 = "embedding.position.weight" in tensors
    names, base, layers = (GPT2, "transformer.", "h.") if is_gpt2 else (LLAMA, "model.", "layers.")
    result = {}
    for name, values in tensors.items():
        stem, _, suffix = name.rpartition(".")
        prefix = ""
        if stem.startswith("layers."):
            _, number, stem = stem.split(".", 2)
            prefix = f"{layers}{number}."
        transposed = is_gpt2 and values.ndim == 2 and prefix
        if is_gpt2 and stem in ("attention.q", "attention.k", "attention.v"):
            if stem != "attention.q":
                continue
            values = np.concatenate([tensors[name.replace(".q.", f".{part}.")] for part in "qkv"])
            target = "attn.c_attn"
        elif stem == "head":
            result[name.replace("head", "lm_head")] = values
            continue
        else:
            target = names[stem]
        result[f"{base}{prefix}{target}.{suffix}"] = values.T if transposed else values
    return result


def round_bf16(values):
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    lower = bits & 0xffff
    upper = bits >> 16
    up = (lower > 0x8000) | ((lower == 0x8000) & (upper % 2 == 1))
    return (upper + up).astype(np.uint16)


def require_equal(actual, expected):
    assert sorted(actual) == sorted(expected), f"names differ: {sorted(set(actual) ^ set(expected))}"
    for name in expected:
        assert actual[name].shape == expected[name].shape, f"{name}: shape {actual[name].shape}"
        assert actual[name].dtype == expected[name].dtype, f"{name}: type {actual[name].dtype}"
        assert actual[name].tobytes() == np.ascontiguousarray(expected[name]).tobytes(), f"{name} differs"


def whole(folder, checkpoint):
    require_equal(read_folder(folder), hugging_face(read_checkpoint(checkpoint, "weights")))


def moments(folder, checkpoint):
    expected = {f"{kind}.{name}": values for kind in ("adam_m", "adam_v")
                for name, values in hugging_face(read_checkpoint(checkpoint, kind)).items()}
    require_equal(read_folder(folder, "optimizer"), expected)


def equal(a, b):
    require_equal(read_folder(a), read_folder(b))


def rounded(folder, other, dtype):
    convert = round_bf16 if dtype == "bf16" else lambda values: values.astype(np.float16)
    require_equal(read_folder(other), {name: convert(values) for name, values in read_folder(folder).items()})
    with open(os.path.join(other, "config.json")) as file:
        assert json.load(file)["torch_dtype"] == {"bf16": "bfloat16", "fp16": "float16"}[dtype]


def mean(folder, how, *folders):
    kind, _, numbers = how.partition("=")
    if kind == "ema":
        weights = [float(numbers) ** (len(folders) - 1 - i) for i in range(len(folders))]
    else:
        weights = [float(number) for number in numbers.split(",")]
    models = [read_folder(f) for f in folders]
    expected = {}
    for name in models[0]:
        total = np.zeros(models[0][name].shape, np.float64)
        for weight, model in zip(weights, models, strict=True):
            total += weight * model[name].astype(np.float64)
        expected[name] = (total / sum(weights)).astype(np.float32)
    require_equal(read_folder(folder), expected)


if __name__ == "__main__":
    try:
        {f.__name__: f for f in (whole, moments, equal, rounded, mean)}[sys.argv[1]](*sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"check_merge.py: {' '.join(sys.argv[1:])}: {error}")
