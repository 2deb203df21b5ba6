"""Tiny Hugging Face models with random parameters, the same for a seed in any dtype."""

import numpy as np
import torch
from transformers import AutoModelForCausalLM


def random_model(config, seed, dtype=torch.float32):
    """A model in eval mode and of eager attention. Norm weights scatter about 1 (about 0 where the model adds
    1 to them) and biases about 0, so that a reader that drops them is caught; values are drawn as float32,
    then cast to dtype."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    torch.set_default_dtype(default)
    model.config.architectures = [type(model).__name__]
    random = np.random.default_rng(seed)
    norm_center = 0.0 if config.model_type.startswith("gemma") else 1.0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_norm_weight = parameter.dim() == 1 and name.endswith("weight")
            values = random.normal(norm_center if is_norm_weight else 0.0, 0.2, parameter.shape).astype("float32")
            parameter.copy_(torch.from_numpy(values))
    return model


def random_tokens(shape, vocab_size, seed):
    return torch.from_numpy(np.random.default_rng(seed).integers(vocab_size, size=shape))
