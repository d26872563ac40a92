"""Outcomes of a network, in a form that can be counted and saved."""

import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter

from sparkdl.errors import ConfigError, ShapeError
from tests.oracle.choices import Seeded
from tests.oracle.comparison import compare
from tests.oracle.networks import case

FAILED = ("differs", "raised", "crashed", "hung")


@dataclass
class Outcome:
    """`kind` is "same", "skipped", "refused" or one of FAILED; `told` is the reason.

    `excess` is the largest ratio of error to permitted error.
    """

    index: int
    kind: str
    told: str = ""
    case: dict | None = None
    layers: list = field(default_factory=list)
    excess: float = 0.0
    seconds: float = 0.0

    @property
    def failed(self):
        return self.kind in FAILED

    def to_dict(self):
        return asdict(self)


def drawn(seed, index):
    """Draws case `index` of the run with this seed, or raises ConfigError or ShapeError."""
    return case(Seeded(f"{seed}/{index}"))


def examined(seed, index):
    """Returns the Outcome of case `index`."""
    start = perf_counter()
    try:
        one = drawn(seed, index)
    except (ConfigError, ShapeError) as error:
        return Outcome(index, "refused", str(error))
    outcome = judged(one, index)
    outcome.seconds = perf_counter() - start
    return outcome


def judged(one, index=0):
    """Returns the Outcome of a case."""
    about = {"case": one.to_dict(), "layers": [p.layer.type_name for p in one.conf.stack]}
    try:
        verdict = compare(one)
    except Exception as error:
        return Outcome(index, "raised", place_of(error), **about)
    if verdict.skipped:
        return Outcome(index, "skipped", verdict.skipped, **about)
    kind, told = ("differs" if verdict.differences else "same"), map(str, verdict.differences)
    return Outcome(index, kind, "; ".join(told), excess=verdict.margin, **about)


def place_of(error):
    """Returns an exception's type, place of origin and message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {error}"


def counted(outcomes):
    """Returns {name: Counter} of outcomes by kind, layer, dtype, batch and mask."""
    counts = {name: Counter() for name in ("kind", "layer", "dtype", "batch", "mask")}
    for outcome in outcomes:
        counts["kind"][outcome.kind] += 1
        if outcome.case:
            counts["layer"].update(set(outcome.layers))
            counts["dtype"][outcome.case["conf"].get("dtype", "float32")] += 1
            counts["batch"][outcome.case["batch"]] += 1
            counts["mask"][outcome.case["mask"]] += 1
    return counts
