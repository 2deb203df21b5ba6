"""A training step of a model in PyTorch, for comparison with dt-train's.

Prints a JSON object a mode: {"mode", "step_s"}: the best of its steps after the first, which compiles and warms up. Needs
torch alone. Attention by scaled_dot_product_attention, AdamW in its fused form.
"""

import argparse
import json
import time

import torch
from torch_models import make_model


def make_step(mode, config, device):
    compiled, kind = mode.split("-", 1)
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = make_model(config).to(device)
    if kind == "bf16":
        model = model.to(torch.bfloat16)
    forward = torch.compile(model) if compiled == "compiled" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def now():
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def step(sequences):
        started = now()
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=kind == "autocast"):
            loss = forward(sequences[:, :-1], sequences[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return now() - started

    return step


def best_step_s(mode, config, args, best):
    """Stops at the first step where that is far from the best of the modes so far."""
    step = make_step(mode, config, args.device)
    sequences = torch.randint(0, 256, (args.batch, args.length + 1), device=args.device)
    # Warm-up; what is compiled is compiled for this batch, the rest takes its states' memory.
    step(sequences if mode.startswith("compiled") else sequences[:1])
    times = [step(sequences)]
    while len(times) < args.steps and times[0] < 1.2 * best:
        times.append(step(sequences))
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a config.json")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--modes", required=True, help="of eager- or compiled- and fp32, autocast or bf16, by commas")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with open(args.model, encoding="utf-8") as file:
        config = json.load(file)
    best = float("inf")
    for mode in args.modes.split(","):
        step_s = best_step_s(mode, config, args, best)
        best = min(best, step_s)
        print(json.dumps({"mode": mode, "step_s": step_s}), flush=True)


if __name__ == "__main__":
    main()
