"""A training step of GPT-2 124M in PyTorch on the CPU, for comparison with dt-train's.

Prints a JSON object a mode: {"mode", "precision", "tokens_per_s"}; the best of its steps after the first ones, which
compile and warm up. Needs torch alone. The model is the one of dt's preset: learned positions, pre-norm blocks, tanh
GELU, tied head; attention by scaled_dot_product_attention, AdamW in its fused form.
"""

import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.output = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, length, hidden = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(hidden, dim=2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(batch, length, hidden))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers=12, hidden=768, heads=12, vocabulary=50257, positions=1024):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(positions, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, labels):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.tokens.weight)
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]).float(), labels.view(-1))


def best_step_s(model, loss_of, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    sequences = torch.randint(0, 50257, (args.global_batch, args.length + 1))
    times = []
    for _ in range(args.warmup + args.steps):
        started = time.perf_counter()
        optimizer.zero_grad(set_to_none=False)
        for part in sequences.split(args.micro_batch):
            (loss_of(part[:, :-1], part[:, 1:].contiguous()) * len(part) / args.global_batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter() - started)
    return min(times[args.warmup :])


def measure(mode, args):
    compiled, kind = mode.split("-", 1)
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = Gpt2(positions=args.length)
    if kind == "bf16":
        model = model.to(torch.bfloat16)
    forward = torch.compile(model) if compiled == "compiled" else model

    def loss_of(tokens, labels):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=kind == "autocast"):
            return forward(tokens, labels)

    return args.global_batch * args.length / best_step_s(model, loss_of, args)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--global-batch", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument(
        "--modes",
        default="eager-fp32,compiled-fp32,eager-autocast,compiled-autocast,eager-bf16,compiled-bf16",
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    for mode in args.modes.split(","):
        precision = "fp32" if mode.endswith("fp32") else "bf16"
        result = {"mode": mode, "precision": precision, "tokens_per_s": measure(mode, args)}
        print(json.dumps(result | {"torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main()
