"""Checks of the GPU against the reference: operations, networks, and captured graphs."""

import traceback
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from sparkdl.engine import compile
from sparkdl.engine.dtypes import BFLOAT16, is_float
from sparkdl.errors import ShapeError
from sparkdl.nn import zoo
from sparkdl.nn.execution.replica import Replica
from tests.benchmarks.gpu.absent import stand_in
from tests.benchmarks.gpu.batches import noise

stand_in()
from tests.engine.cases import CASES  # noqa: E402
from tests.engine.support import feeds, trace, with_gradients  # noqa: E402
from tests.support.zoo_networks import OF_ARRAYS  # noqa: E402

LIMITS = {"float32": 1e-4, BFLOAT16: 2e-2, "float16": 2e-2}
SMALL = {"char_lstm": {"steps": 9}, "transformer": {"steps": 16}, "googlenet": {"auxiliary": False}}
IMAGES = {"alexnet": 67, "caffenet": 67, "googlenet": 64, "inception_v3": 75, "vgg16": 32}
IMAGES |= {"resnet18": 64, "resnet50": 64}  # rows and columns, smaller than the network's own
CONSTANT = "BatchNorm of"  # the gradient of its summed squares is rounding error only
TWICE = "RecurrentGrad"  # whose gradient differentiates a gradient, through all steps
RATE, STEPS, UPDATES = 0.01, 3, 2
PARTS = "loss", "gradient", "updates"  # of a network's error
EPSILON, MARGIN = {"float32": 2.0**-24, BFLOAT16: 2.0**-9}, 10


@dataclass(frozen=True)
class Finding:
    """The GPU's deviation from the reference, or its error message.

    `error` is the largest difference relative to the largest number, None if the check failed.
    `same` tells whether eager calls, graph capture, and replay gave the same bits. `detail` helps
    to find the fault: a traceback, or the error of each part.
    """

    name: str
    dtype: str
    error: float | None
    said: str = ""
    same: bool = False
    detail: str = ""

    @property
    def good(self):
        return self.error is not None and self.error <= LIMITS[self.dtype] and self.same

    def __str__(self):
        found = self.said if self.error is None else f"{self.error:.1e}"
        bits = "" if self.same or self.error is None else "  other bits from the graph"
        return f"{'ok    ' if self.good else 'WRONG '} {self.dtype:9} {self.name}  {found}{bits}"


def checks(only=None):
    """Returns [(kind, name, dtype)] of all operations and networks, or of some operations."""
    networks = OF_ARRAYS if only is None else []  # first, as they take longest
    found = [("network", name, dtype) for dtype in EPSILON for name in networks]
    return found + [("operation", name, dtype) for dtype in LIMITS for name in only or CASES]


def tried(kind, name, dtype, backend="cuda"):
    """Returns the Finding of a check; an exception becomes a Finding too."""
    try:
        check = {"operation": operation, "network": network}[kind]
        error, same, detail = check(name, dtype, backend)
        return Finding(name, dtype, error, same=same, detail=detail)
    except Exception as error:
        return Finding(name, dtype, None, told(error), detail=traceback.format_exc()[-4000:])


def told(error):
    """Returns an error's first lines and place, as the machine may be out of reach."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split("\n", 3)[:3])
    return (
        f"{type(error).__name__}: {text}"[:300] + f" ({Path(place.filename).name}:{place.lineno})"
    )


def operation(name, dtype, backend):
    """Checks an operation forward, and backward if it has a gradient, eagerly and captured."""
    case = CASES[name]
    arrays = [a.astype(dtype) if is_float(a.dtype) else a for a in case.arrays]
    graph = None
    if case.order and not name.startswith(CONSTANT):
        with suppress(ShapeError):  # some gradients reject narrow types
            graph = with_gradients(case.op, *arrays)
    graph = graph or trace(case.op, *arrays)
    reference = compile(graph, "reference")
    expected = {n: np.array(y) for n, y in reference.run(feeds(arrays)).items()}
    rounding = dict.fromkeys(expected, 1.0)
    if name.startswith(TWICE):
        rounding = noise_of(reference, arrays, expected, LIMITS[dtype])
    program, errors, bits = compile(graph, backend), {n: [] for n in expected}, []
    for _ in range(STEPS):  # eager, captured, replayed
        found = {n: np.array(y) for n, y in program.run(feeds(arrays)).items()}
        for n, y in expected.items():
            errors[n].append(distance(found[n], y) / rounding[n])
        bits.append([found[n].tobytes() for n in expected])
    error = max((e for each in errors.values() for e in each), default=0.0)
    return error, bits.count(bits[0]) == STEPS, f"{errors}\n{program.describe()}"


def noise_of(reference, arrays, expected, limit):
    """Returns, per output, `MARGIN` times the effect of rounding the inputs, relative to `limit`.

    It is at least 1. In narrow types a gradient of a gradient can exceed a common limit.
    """
    draw = np.random.default_rng(1)
    narrow = [a.dtype.itemsize == 2 for a in arrays]
    unit = 2 * EPSILON[BFLOAT16]  # one unit in the last place
    shaken = [
        (a * (1 + unit * draw.uniform(-1, 1, a.shape))).astype(a.dtype) if n else a
        for a, n in zip(arrays, narrow, strict=True)
    ]
    found = reference.run(feeds(shaken)) if any(narrow) else expected
    own = {name: distance(np.array(found[name]), y) for name, y in expected.items()}
    return {n: max(1.0, MARGIN * e / limit) if np.isfinite(e) else 1.0 for n, e in own.items()}


def network(name, dtype, backend):
    """Checks the first loss and gradient of a small network, and its parameters after some updates.

    Bits are compared between repeated gradients, and between fused and separate updates.
    """
    conf = small(name, dtype)
    replica, batch, bits = Replica(conf, backend), noise(conf), []
    for _ in range(STEPS):
        loss, _ = replica.gradient(batch)
        bits.append((float(loss), replica.grad.tobytes()))
    own, other = (trained(conf, one, batch) for one in (backend, "reference"))
    shaken = trained(conf, "reference", batch, EPSILON[dtype])
    errors = dict(zip(PARTS, map(partial(beyond, LIMITS[dtype]), own, other, shaken), strict=True))
    whole, parts = (led(conf, backend, batch, step) for step in (Replica.step, in_parts))
    same = {"gradients": bits.count(bits[0]) == STEPS, "updates": whole == parts}
    return max(errors.values()), all(same.values()), f"{errors} {same}"


def small(name, dtype):
    """Returns a small version of a zoo network."""
    conf = replace(getattr(zoo, name)(**SMALL.get(name, {})), dtype=dtype)
    if name not in IMAGES:
        return conf
    shape = (3, IMAGES[name], IMAGES[name])
    one = (
        {"input_shape": shape} if hasattr(conf, "input_shape") else {"inputs": {"features": shape}}
    )
    return replace(conf, **one)


def trained(conf, backend, batch, shake=0.0):
    """Returns (first loss, first gradient, change of all parameters by `UPDATES` updates on one
    batch).

    `shake` bounds a random relative change of each initial parameter.
    """
    replica = Replica(conf, backend)
    replica.params *= 1 + shake * np.random.default_rng(1).uniform(-1, 1, replica.params.shape)
    first = replica.params.copy()
    loss, gradient = float(replica.step(batch, RATE, 1)), replica.grad.copy()
    for t in range(2, UPDATES + 1):
        replica.step(batch, RATE, t)
    return np.array([loss]), gradient, replica.params - first


def led(conf, backend, batch, step):
    """Returns the bits of all parameters after some updates, the last captured and replayed."""
    replica = Replica(conf, backend)
    for t in range(1, STEPS + 1):
        step(replica, batch, RATE, t)
    return replica.params.tobytes()


def in_parts(replica, batch, rate, t):
    replica.gradient(batch)
    replica.apply(rate, t)


def beyond(limit, found, expected, shaken):
    """Returns the norm of the difference relative to that of the expected value.

    The reference's own sensitivity to rounded parameters is no error: if it is large, as after many
    normalizations, `MARGIN` times its size counts as `limit`.
    """
    length = np.linalg.norm(expected) or 1.0
    error, own = (float(np.linalg.norm(x - expected) / length) for x in (found, shaken))
    return error / max(1.0, MARGIN * own / limit) if np.isfinite(error) else float("inf")


def distance(found, expected):
    """Returns the largest difference relative to the largest number; NaNs must coincide."""
    found, expected = (np.asarray(a, np.float64) for a in (found, expected))
    here = np.isfinite(expected)
    if not np.array_equal(np.isfinite(found), here):
        return float("inf")
    largest = np.abs(expected[here]).max(initial=0)
    return float(np.abs(found - expected)[here].max(initial=0) / max(largest, 1e-6))
