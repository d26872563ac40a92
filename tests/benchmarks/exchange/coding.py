"""Training over a slow link with each codec: bytes sent, and time to an accuracy."""

import json
import sys
from dataclasses import asdict

from sparkdl.exchange.codecs import FixedThreshold, Half, OneBit, Threshold, TopK, TwoBit
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from tests.benchmarks.exchange.digits import Fit, fit
from tests.benchmarks.exchange.link import RATE, HostWorkers, on_the_left
from tests.benchmarks.exchange.row import Bar, Row, duration

EPOCHS, GOAL = 6, 0.97
PLAIN, ONE_BIT = "none", "OneBit"
CODECS = {
    PLAIN: None,
    "float16": Half(dtype="float16"),
    "bfloat16": Half(dtype="bfloat16"),
    ONE_BIT: OneBit(),
    "TwoBit": TwoBit(threshold=0.01),
    "Threshold": Threshold(),
    "Threshold, fixed": Threshold(rule=FixedThreshold(threshold=1e-3)),
    "TopK": TopK(),
}


def measure(options):
    """Yields a row for each codec, starting with no codec."""
    plain = None
    for found in on_the_left(__name__):
        name, one = found["codec"], Fit(**found["fit"])
        plain = plain or one
        yield row(name, one, plain)


def row(name, one, plain):
    """Returns the row of a codec, compared with no codec."""
    strict = name == ONE_BIT
    saved = Bar(
        what="fewer bytes",
        value=plain.sent / one.sent,
        bound=20.0 if strict else None,
    )
    lost = 100 * (plain.accuracy[-1] - one.accuracy[-1])
    bars = [
        saved,
        Bar(what="lost", value=lost, bound=0.5 if strict else None, most=True, unit=" points"),
    ]
    until = one.until(GOAL)
    note = (
        f"{one.sent / one.updates / 1e6:.3g} MB an update, {one.speed:,.0f} examples/s, "
        f"accuracy {one.accuracy[-1]:.4f} after {len(one.accuracy)} epochs"
    )
    return Row(
        title=f"LeNet to {GOAL} over {RATE}, codec {name}",
        ours="never" if until is None else duration(until),
        bars=tuple(bars),
        notes=(note,),
        figures=asdict(one),
    )


def main(address, right):
    """Trains on the left and right hosts; prints a line for each codec."""
    workers = HostWorkers(address, int(right))
    common = {"batch_size_per_worker": 32, "workers": 2, "shared_memory": False}
    try:
        fit(AllReduceSGD(**common), workers, 1)  # compiles the programs
        for name, codec in CODECS.items():
            found = fit(AllReduceSGD(codec=codec, **common), workers, EPOCHS)
            print(json.dumps({"codec": name, "fit": asdict(found)}), flush=True)
    finally:
        workers.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
