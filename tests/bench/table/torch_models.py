"""The decoders that dt trains, in PyTorch, from a Hugging Face config.json: GPT-2 and Llama. For speed alone: weights
are random, q, k, v are one projection, as are gate and up."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, bias, rotary=None):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.rotary = heads, kv_heads, hidden // heads, rotary
        self.qkv = nn.Linear(hidden, (heads + 2 * kv_heads) * self.head_dim, bias=bias)
        self.output = nn.Linear(hidden, hidden, bias=bias)

    def forward(self, x):
        batch, length, hidden = x.shape
        parts = self.qkv(x).view(batch, length, -1, self.head_dim).transpose(1, 2)
        q, k, v = parts.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
        if self.rotary:
            q, k = self.rotary(q), self.rotary(k)
        grouped = self.heads != self.kv_heads
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
        return self.output(y.transpose(1, 2).reshape(batch, length, hidden))


class Rotary(nn.Module):
    """Features i and i + head_dim / 2 are a pair."""

    def __init__(self, head_dim, positions, theta):
        super().__init__()
        frequencies = theta ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(positions), frequencies).repeat(1, 2)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x):
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        length = x.shape[-2]
        return (x * self.cos[:length] + turned * self.sin[:length]).to(x.dtype)


class GeluMlp(nn.Module):
    def __init__(self, hidden, features):
        super().__init__()
        self.up, self.down = nn.Linear(hidden, features), nn.Linear(features, hidden)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate="tanh"))


class SwigluMlp(nn.Module):
    def __init__(self, hidden, features):
        super().__init__()
        self.gate_up = nn.Linear(hidden, 2 * features, bias=False)
        self.down = nn.Linear(features, hidden, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(functional.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, norm, attention, mlp):
        super().__init__()
        self.norm1, self.attention, self.norm2, self.mlp = norm(), attention, norm(), mlp

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, vocabulary, hidden, positions, tied, blocks, norm):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden) if positions else None
        self.blocks, self.norm = nn.ModuleList(blocks), norm()
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        if tied:
            self.head.weight = self.tokens.weight
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, labels):
        x = self.tokens(tokens)
        if self.positions:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]).float(), labels.view(-1))


def optional(config, key, default):
    """The value of a key that a config.json may leave out, or set to null, for transformers' default."""
    value = config.get(key)
    return default if value is None else value


def gpt2(config):
    hidden, heads = config["n_embd"], config["n_head"]
    positions = optional(config, "n_positions", config.get("n_ctx"))
    tied = optional(config, "tie_word_embeddings", True)
    norm = lambda: nn.LayerNorm(hidden)
    blocks = [
        Block(norm, Attention(hidden, heads, heads, bias=True), GeluMlp(hidden, 4 * hidden))
        for _ in range(config["n_layer"])
    ]
    return Decoder(config["vocab_size"], hidden, positions, tied, blocks, norm)


def llama(config):
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    kv_heads = optional(config, "num_key_value_heads", heads)
    norm = lambda: nn.RMSNorm(hidden, eps=optional(config, "rms_norm_eps", 1e-6))
    rope = optional(config, "rope_parameters", config)  # where transformers 5 has the base
    theta = optional(rope, "rope_theta", 10000.0)
    rotary = Rotary(hidden // heads, config["max_position_embeddings"], theta)
    blocks = [
        Block(
            norm,
            Attention(hidden, heads, kv_heads, bias=False, rotary=rotary),
            SwigluMlp(hidden, config["intermediate_size"]),
        )
        for _ in range(config["num_hidden_layers"])
    ]
    tied = optional(config, "tie_word_embeddings", False)
    return Decoder(config["vocab_size"], hidden, None, tied, blocks, norm)


def make_model(config):
    return {"gpt2": gpt2, "llama": llama}[config["model_type"]](config)
