"""Optimizers, array by array, from the papers: gradient and state to step.

Each function takes (optimizer, gradient, state, rate, t) and updates state, a dict of arrays, in
place. Where variants of a rule exist, the optimizer's docstring says which one applies.
"""

import numpy as np


def sgd(u, g, s, rate, t):
    return -rate * g


def momentum(u, g, s, rate, t):
    s["velocity"] = u.momentum * s["velocity"] - rate * g
    return s["velocity"]


def nesterov(u, g, s, rate, t):
    s["velocity"] = u.momentum * s["velocity"] - rate * g
    return u.momentum * s["velocity"] - rate * g


def ada_grad(u, g, s, rate, t):
    s["square"] = s["square"] + g**2
    return -rate * g / root(u, s["square"])


def root(u, square):
    """Returns the root of s, with epsilon in it or added to it."""
    return np.sqrt(square + u.epsilon) if u.epsilon_in_root else np.sqrt(square) + u.epsilon


def rms_prop(u, g, s, rate, t):
    s["square"] = u.decay * s["square"] + (1 - u.decay) * g**2
    return -rate * g / root(u, s["square"])


def ada_delta(u, g, s, rate, t):
    """Zeiler, algorithm 1."""
    s["square"] = u.decay * s["square"] + (1 - u.decay) * g**2
    step = g * np.sqrt(s["step_square"] + u.epsilon) / np.sqrt(s["square"] + u.epsilon)
    s["step_square"] = u.decay * s["step_square"] + (1 - u.decay) * step**2
    return -rate * step


def moments(u, g, s, t):
    """Kingma and Ba, algorithm 1: both bias-corrected moments."""
    s["mean"] = u.beta1 * s["mean"] + (1 - u.beta1) * g
    s["square"] = u.beta2 * s["square"] + (1 - u.beta2) * g**2
    return s["mean"] / (1 - u.beta1**t), s["square"] / (1 - u.beta2**t)


def adam(u, g, s, rate, t):
    mean, square = moments(u, g, s, t)
    return -rate * mean / (np.sqrt(square) + u.epsilon)


def adam_hat(u, g, s, rate, t):
    moments(u, g, s, t)
    factor = np.sqrt(1 - u.beta2**t) / (1 - u.beta1**t)
    return -rate * factor * s["mean"] / (np.sqrt(s["square"]) + u.epsilon)


def ada_max(u, g, s, rate, t):
    """Kingma and Ba, algorithm 2, with PyTorch's epsilon."""
    s["mean"] = u.beta1 * s["mean"] + (1 - u.beta1) * g
    s["largest"] = np.maximum(u.beta2 * s["largest"], np.abs(g) + u.epsilon)
    return -rate / (1 - u.beta1**t) * s["mean"] / s["largest"]


def nadam(u, g, s, rate, t):
    """Dozat, algorithm 2, with a constant mu."""
    _, square = moments(u, g, s, t)
    ahead = u.beta1 * s["mean"] / (1 - u.beta1 ** (t + 1)) + (1 - u.beta1) * g / (1 - u.beta1**t)
    return -rate * ahead / (np.sqrt(square) + u.epsilon)


def ams_grad(u, g, s, rate, t):
    """Reddi et al., algorithm 2, with bias-corrected moments."""
    mean, square = moments(u, g, s, t)
    s["largest"] = np.maximum(s["largest"], square)
    return -rate * mean / (np.sqrt(s["largest"]) + u.epsilon)


def ada_belief(u, g, s, rate, t):
    """Zhuang et al., algorithm 2."""
    s["mean"] = u.beta1 * s["mean"] + (1 - u.beta1) * g
    away = (g - s["mean"]) ** 2
    s["square"] = u.beta2 * s["square"] + (1 - u.beta2) * away + u.epsilon
    square = s["square"] / (1 - u.beta2**t)
    return -rate * s["mean"] / (1 - u.beta1**t) / (np.sqrt(square) + u.epsilon)


def ftrl(u, w, g, s, rate):
    """McMahan et al. (2013), algorithm 1: returns the new weights."""
    before, s["square"] = s["square"], s["square"] + g**2
    s["linear"] = s["linear"] + g - (np.sqrt(s["square"]) - np.sqrt(before)) / rate * w
    scale = (u.beta + np.sqrt(s["square"])) / rate + u.l2
    shrunk = s["linear"] - np.sign(s["linear"]) * u.l1
    return np.where(np.abs(s["linear"]) <= u.l1, 0.0, -shrunk / scale)


RULES = {
    "Sgd": sgd,
    "Momentum": momentum,
    "Nesterov": nesterov,
    "AdaGrad": ada_grad,
    "RmsProp": rms_prop,
    "AdaDelta": ada_delta,
    "Adam": adam,
    "AdamW": adam,
    "AdamHat": adam_hat,
    "AdaMax": ada_max,
    "Nadam": nadam,
    "AMSGrad": ams_grad,
    "AdaBelief": ada_belief,
}
SLOTS = ("linear", "velocity", "square", "step_square", "mean", "largest")


def state_of(optimizer, shape):
    """Returns an array's initial state: zeros, except for AdaGrad's accumulator."""
    state = {name: np.zeros(shape) for name in SLOTS}
    state["square"] += getattr(optimizer, "initial_accumulator", 0.0)
    return state


def trusted(step, w, coefficient, epsilon, vectors):
    """Scales `step` by the trust ratio, unless the array has one axis or a norm is 0."""
    if w.ndim < 2 and not vectors:
        return step
    own, length = np.linalg.norm(w), np.linalg.norm(step)
    return step * (coefficient * own / (length + epsilon)) if own > 0 and length > 0 else step


def move(u, w, g, state, rate, t, decay):
    """Returns the step of one array w with decoupled decay `decay`; updates the state."""
    if u.type_name == "Lars":
        return momentum(u, trusted(g + decay * w, w, u.trust, u.epsilon, u.vectors), state, rate, t)
    if u.type_name == "Lamb":
        step = adam(u, g, state, 1.0, t) - decay * w
        return rate * trusted(step, w, 1.0, 0.0, u.vectors)
    if u.type_name == "Ftrl":
        return ftrl(u, w, g, state, rate) - w - rate * decay * w
    return RULES[u.type_name](u, g, state, rate, t) - rate * decay * w
