"""Times PyTorch's matrix products and attention on the CPU: a request a line of standard input, a JSON object each,
after one that says which PyTorch it is.

  forward|input|weight DTYPE ROWS OUTPUTS INPUTS          x @ w.t(), dy @ w, dy.t() @ x, into memory that is there
  attention DTYPE BATCH LENGTH HEADS KV_HEADS HEAD_DIM    causal, by scaled_dot_product_attention

Times are the best of several calls, in seconds; attention's also of the layouts that its inputs may have.
"""

import argparse
import json
import sys
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

dtypes = {"fp32": torch.float32, "bf16": torch.bfloat16}


def best_s(body, at_least_s=0.05):
    times = []
    while sum(times) < at_least_s:
        started = time.perf_counter()
        body()
        times.append(time.perf_counter() - started)
    return min(times)


def values(dtype, *shape):
    """Small ones that are not all equal."""
    count = torch.Size(shape).numel()
    piece = torch.rand(min(count, 1 << 20)) - 0.5
    return piece.to(dtype).repeat(-(-count // piece.numel()))[:count].view(shape)


def product(kind, dtype, rows, outputs, inputs):
    w = values(dtype, outputs, inputs)
    x, y = values(dtype, rows, inputs), values(dtype, rows, outputs)
    a, b = {"forward": (x, w.t()), "input": (y, w), "weight": (y.t(), x)}[kind]
    out = values(dtype, a.shape[0], b.shape[1])
    return lambda: {"seconds": best_s(lambda: torch.mm(a, b, out=out))}


def packed(dtype, batch, length, heads, kv_heads, head_dim):
    """Views of one projection's rows, as a model has them."""
    rows = values(dtype, batch, length, heads + 2 * kv_heads, head_dim)
    return [part.transpose(1, 2) for part in rows.split([heads, kv_heads, kv_heads], dim=2)]


def attention(dtype, batch, length, heads, kv_heads, head_dim):
    views = packed(dtype, batch, length, heads, kv_heads, head_dim)
    layouts = [views, [part.contiguous() for part in views]]
    if kv_heads != heads:
        q, k, v = layouts[1]
        layouts.append([q] + [part.repeat_interleave(heads // kv_heads, dim=1) for part in (k, v)])
    timed = [attention_of(*layout) for layout in layouts]
    return lambda: {key: min(seconds[key] for seconds in [body() for body in timed]) for key in ("forward", "backward")}


def attention_of(q, k, v):
    inputs = [part.detach().requires_grad_() for part in (q, k, v)]

    def forward():
        return scaled_dot_product_attention(*inputs, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])

    y = forward()
    dy = torch.rand_like(y)
    return lambda: {
        "forward": best_s(forward),
        "backward": best_s(lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    torch.set_num_threads(parser.parse_args().threads)
    print(json.dumps({"torch": torch.__version__}), flush=True)
    before, timed = None, None
    for line in sys.stdin:
        if line != before:
            kind, dtype, *sizes = line.split()
            arguments = (dtypes[dtype], *map(int, sizes))
            timed = None  # lets go of its tensors
            timed = attention(*arguments) if kind == "attention" else product(kind, *arguments)
            before = line
        print(json.dumps(timed()), flush=True)


if __name__ == "__main__":
    main()
