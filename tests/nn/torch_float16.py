"""Prints PyTorch's loss scales and losses for a small network in float16.

test_float16.py holds its output. The tests do not need PyTorch: run this with
`.bench/torch/bin/python`, which `python build.py bench cpu` installs.
"""

import json

import numpy as np

STEPS, INTERVAL = 20, 3
SHAPES = {"dense_1/W": (6, 8), "dense_1/b": (8,), "output_1/W": (8, 3), "output_1/b": (3,)}


def numbers():
    """Returns parameters, features (16, 6) whose gradients overflow at first, labels (16,)."""
    rng = np.random.default_rng(0)
    params = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in SHAPES.items()}
    params["dense_1/W"] /= 300
    features = (300 * rng.standard_normal((16, 6))).astype(np.float32)
    return params, features, rng.integers(0, 3, 16)


def trained(make):
    """Returns the log2 scales and losses of all steps with the optimizer that `make` builds."""
    import torch

    params, features, labels = numbers()
    w = {name: torch.tensor(array, requires_grad=True) for name, array in params.items()}
    x, labels = torch.tensor(features).half(), torch.tensor(labels)
    optimizer, scales, losses = make(torch.optim, w.values()), [], []
    scaler = torch.amp.GradScaler("cpu", growth_interval=INTERVAL)
    for _ in range(STEPS):
        h = torch.tanh((x @ w["dense_1/W"].half()).float() + w["dense_1/b"]).half().float()
        z = h @ w["output_1/W"] + w["output_1/b"]
        loss = torch.nn.functional.cross_entropy(z, labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(int(np.log2(scaler.get_scale())))
        losses.append(round(loss.item(), 4))
    return {"scales": scales, "losses": losses}


if __name__ == "__main__":
    print(json.dumps({"Sgd": trained(lambda optim, params: optim.SGD(params, 1e-5))}))
    print(json.dumps({"Adam": trained(lambda optim, params: optim.Adam(params, 1e-4))}))
