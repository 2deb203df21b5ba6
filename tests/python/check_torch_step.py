"""check_torch_step.py FOLDER CONFIG...: FOLDER's torch_step.py takes steps of the models, made small.

PyTorch 1.13 is enough: what later ones have is put in its place, but for the compiler.
"""

import contextlib
import io
import json
import sys
import types

import torch
from torch import nn

SMALL = {
    **{"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    **{"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "max_position_embeddings": 64},
}


class RMSNorm(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(hidden)), eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


def attention(q, k, v, is_causal, enable_gqa):
    if enable_gqa:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], dim=1) for t in (k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if is_causal:
        scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
    return scores.softmax(-1).to(v.dtype) @ v


if not hasattr(nn, "RMSNorm"):
    plain = torch.optim.AdamW
    nn.RMSNorm = RMSNorm
    nn.functional.scaled_dot_product_attention = attention
    torch._dynamo = types.SimpleNamespace(reset=lambda: None)
    torch.optim.AdamW = lambda parameters, lr, fused: plain(parameters, lr=lr)

sys.path.insert(0, sys.argv[1])
import torch_step  # noqa: E402

for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config.update({key: size for key, size in SMALL.items() if key in config})
    with open("small.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    modes = ["eager-fp32", "eager-autocast", "eager-bf16"]
    sys.argv = ["torch_step.py", "--model", "small.json", "--threads", "1", "--length", "16", "--batch", "2"]
    sys.argv += ["--modes", ",".join(modes)]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        torch_step.main()
    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [line["mode"] for line in lines] == modes, lines
    assert all(line["step_s"] > 0 for line in lines), lines
    print(path, "ok")
