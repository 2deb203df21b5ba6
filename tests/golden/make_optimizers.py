#!/usr/bin/env python3
"""Write optimizers.f64.h5: what PyTorch and the papers' formulas make of random weights and gradients, in fp64.

usage: make_optimizers.py [OUT_DIR]    (default: this script's directory; README.md there says what the file holds)
"""

import pathlib
import sys

import h5py
import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
STEPS, ELEMENTS = 8, 37
LEARNING_RATES = [0.05 / (step + 1) for step in range(STEPS)]  # a schedule, so that lr's place in the update shows


def decay(weights, lr, weight_decay):
    """Decoupled: apart from the gradient, as in Loshchilov & Hutter 2019."""
    with torch.no_grad():
        weights.mul_(1 - lr * weight_decay)


def torch_steps(optimizer, weights, gradients, weight_decay):
    """The optimizer itself has no decay."""
    for lr, gradient in zip(LEARNING_RATES, gradients):
        optimizer.param_groups[0]["lr"] = lr
        decay(weights, lr, weight_decay)
        weights.grad = gradient.clone()
        optimizer.step()
        yield weights.detach().clone()


def adamw(weights, gradients, weight_decay, beta1, beta2, adam_eps):
    optimizer = torch.optim.AdamW([weights], lr=1, betas=(beta1, beta2), eps=adam_eps, weight_decay=0)
    return torch_steps(optimizer, weights, gradients, weight_decay)


def sgd(weights, gradients, weight_decay, momentum, nesterov=False):
    optimizer = torch.optim.SGD([weights], lr=1, momentum=momentum, nesterov=bool(nesterov), weight_decay=0)
    return torch_steps(optimizer, weights, gradients, weight_decay)


def lion(weights, gradients, weight_decay, beta1, beta2):
    """Chen et al. 2023, algorithm 2."""
    weights, m = weights.detach().clone(), torch.zeros_like(weights)
    for lr, g in zip(LEARNING_RATES, gradients):
        c = beta1 * m + (1 - beta1) * g
        weights = weights - lr * (torch.sign(c) + weight_decay * weights)
        m = beta2 * m + (1 - beta2) * g
        yield weights


def newton_schulz(u):
    """Jordan et al. 2024: five steps, of the transpose where there are more rows than columns."""
    x = u.T if u.shape[0] > u.shape[1] else u
    x = x / (torch.linalg.norm(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def muon(weights, gradients, weight_decay, momentum, rows, columns):
    """Liu et al. 2025 (Moonlight), sections 2.1 and 2.2, of the first rows · columns elements as a matrix.

    torch.optim.Muon with adjust_lr_fn="match_rms_adamw" has this form, but makes bf16 of the direction and divides it
    by max(norm, eps).
    """
    rows, columns = int(rows), int(columns)
    matrix = lambda flat: flat.detach()[: rows * columns].reshape(rows, columns).clone()
    weights, b = matrix(weights), torch.zeros(rows, columns, dtype=torch.float64)
    for lr, gradient in zip(LEARNING_RATES, gradients):
        g = matrix(gradient)
        b = momentum * b + (1 - momentum) * g
        x = newton_schulz((1 - momentum) * g + momentum * b)
        weights = weights - lr * (weight_decay * weights + 0.2 * max(rows, columns) ** 0.5 * x)
        yield weights.flatten()


def adafactor(
    weights, gradients, weight_decay, beta2_decay, clip_threshold, scale_parameter, relative_step, rows, columns
):
    """Shazeer & Stern 2018, algorithms 4 (one row: 5), of the first rows · columns elements as a matrix."""
    rows, columns = int(rows), int(columns)
    matrix = lambda flat: flat.detach()[: rows * columns].reshape(rows, columns).clone()
    rms = lambda x: x.square().mean().sqrt()
    weights, v = matrix(weights), torch.zeros(rows, columns, dtype=torch.float64)
    r, c = torch.zeros(rows, 1, dtype=torch.float64), torch.zeros(1, columns, dtype=torch.float64)
    for step, (lr, gradient) in enumerate(zip(LEARNING_RATES, gradients), start=1):
        g = matrix(gradient)
        beta, squares = 1 - step**-beta2_decay, g.square() + 1e-30
        r = beta * r + (1 - beta) * squares.mean(dim=1, keepdim=True)
        c = beta * c + (1 - beta) * squares.mean(dim=0, keepdim=True)
        v = beta * v + (1 - beta) * squares
        u = g / (v if rows == 1 else r @ c / r.mean()).sqrt()
        if clip_threshold > 0:
            u = u / max(1, rms(u) / clip_threshold)
        rate = min(lr, step**-0.5) if relative_step else lr
        if scale_parameter:
            rate = rate * max(1e-3, rms(weights))
        weights = weights - lr * weight_decay * weights - rate * u
        yield weights.flatten()


def torch_adafactor(
    weights, gradients, weight_decay, beta2_decay, clip_threshold, scale_parameter, relative_step, rows, columns
):
    """PyTorch has no choice of scale_parameter and relative_step: both are on."""
    rows, columns = int(rows), int(columns)
    matrix = lambda flat: flat.detach()[: rows * columns].reshape((columns,) if rows == 1 else (rows, columns)).clone()
    weights = torch.nn.Parameter(matrix(weights))
    optimizer = torch.optim.Adafactor(
        [weights], lr=1, beta2_decay=-beta2_decay, d=clip_threshold, weight_decay=weight_decay
    )
    for lr, gradient in zip(LEARNING_RATES, gradients):
        optimizer.param_groups[0]["lr"] = lr
        weights.grad = matrix(gradient)
        optimizer.step()
        yield weights.detach().clone().flatten()


AS_TORCH = {"weight_decay": 0.1, "beta2_decay": 0.8, "clip_threshold": 1, "scale_parameter": 1, "relative_step": 1}
AS_SCHEDULED = {**AS_TORCH, "weight_decay": 0.2, "beta2_decay": 0.6, "clip_threshold": 0.5, "scale_parameter": 0}
AS_SCHEDULED["relative_step"] = 0

# name: (function, hyper-parameters)
CASES = {
    "adamw": (adamw, {"weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95, "adam_eps": 1e-8}),
    "sgd": (sgd, {"weight_decay": 0.0, "momentum": 0.0}),
    "sgd_decay": (sgd, {"weight_decay": 0.2, "momentum": 0.0}),
    "sgd_momentum": (sgd, {"weight_decay": 0.0, "momentum": 0.9}),
    "sgd_nesterov": (sgd, {"weight_decay": 0.0, "momentum": 0.8, "nesterov": 1.0}),
    "sgd_nesterov_decay": (sgd, {"weight_decay": 0.2, "momentum": 0.8, "nesterov": 1.0}),
    "lion": (lion, {"weight_decay": 0.0, "beta1": 0.9, "beta2": 0.99}),
    "lion_decay": (lion, {"weight_decay": 0.3, "beta1": 0.95, "beta2": 0.98}),
    "muon_wide": (muon, {"weight_decay": 0.1, "momentum": 0.95, "rows": 4, "columns": 9}),
    "muon_tall": (muon, {"weight_decay": 0.0, "momentum": 0.8, "rows": 9, "columns": 4}),
    "adafactor_torch_wide": (torch_adafactor, {**AS_TORCH, "rows": 4, "columns": 9}),
    "adafactor_torch_vector": (torch_adafactor, {**AS_TORCH, "rows": 1, "columns": 37}),
    "adafactor_tall": (adafactor, {**AS_SCHEDULED, "rows": 9, "columns": 4}),
    "adafactor_vector": (adafactor, {**AS_SCHEDULED, "rows": 1, "columns": 37}),
    "adafactor_unclipped": (adafactor, {**AS_SCHEDULED, "clip_threshold": 0.0, "rows": 9, "columns": 4}),
}


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    random = np.random.default_rng(7)
    start = torch.tensor(random.standard_normal(ELEMENTS), dtype=torch.float64)
    gradients = torch.tensor(random.standard_normal((STEPS, ELEMENTS)), dtype=torch.float64)
    gradients[:, -1] = 0  # a weight that no gradient moves
    with h5py.File(out / "optimizers.f64.h5", "w") as file:
        file["start"], file["gradients"] = start.numpy(), gradients.numpy()
        file["learning_rates"] = np.array(LEARNING_RATES)
        for name, (function, hyper_parameters) in CASES.items():
            weights = torch.nn.Parameter(start.clone())
            steps = [w.detach().clone().numpy() for w in function(weights, gradients, **hyper_parameters)]
            file[f"{name}/weights"] = np.stack(steps)
            for key, value in hyper_parameters.items():
                file[f"{name}/{key}"] = np.float64(value)


if __name__ == "__main__":
    main()
