"""A driver on one of two hosts that trains with the requested masters and reports the results.

Its arguments are the session's master and config. Each input line is a `Request`; each output line
is the JSON of the result of `train`, or of an error.
"""

import hashlib
import json
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from platform import node

from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from tests.spark.networks import arrays, rich
from tests.spark.slow import Slow
from tests.support.executors import all_awaited
from tests.training.master_table import MASTERS

RECORDS, EPOCHS = 62, 2


@dataclass(frozen=True, kw_only=True)
class Request:
    """A requested fit.

    Parameters
    ----------
    name : str
        Key in MASTERS.
    folder : str
        Where workers record their host's name and the ids of their batches.
    gate : str or None
        A file that workers wait for.
    pause : float
        Extra seconds per batch.
    epochs : int
    options : dict
        Fields of the master to override.
    """

    name: str
    folder: str
    gate: str | None = None
    pause: float = 0.0
    epochs: int = EPOCHS
    options: dict = field(default_factory=dict)

    @property
    def master(self):
        return replace(MASTERS[self.name].master, **{"workers": 2} | self.options)

    @property
    def transform(self):
        return OnHost(self.folder, self.pause, self.gate)

    def send(self, file):
        print(json.dumps(asdict(self)), file=file, flush=True)


@dataclass(frozen=True)
class OnHost(Slow):
    """A Slow that also records the name of its host."""

    gate: str | None = None

    def __call__(self, batch):
        Path(self.folder, node()).touch()
        while self.gate and not Path(self.gate).exists():
            time.sleep(0.05)
        return super().__call__(batch)


def train(request, fit):
    """Returns a dict about a fit; `fit(conf, data, **options)` returns a Network and a History."""
    data = arrays(RECORDS, records_per_split=25, transform=request.transform)
    network, history = fit(rich(), data, epochs=request.epochs, validation=arrays(31))
    vectors = (network.state.params, network.state.buffers, network.state.slots)
    names = sorted(path.name for path in Path(request.folder).iterdir())
    return {
        "examples": [epoch.examples for epoch in history.epochs],
        "loss": [epoch.loss for epoch in history.epochs],
        "judged": [epoch.validation.examples for epoch in history.epochs],
        "hosts": [name for name in names if not name.isdigit()],
        "restarts": list(map(str, history.restarts)),
        "vectors": hashlib.sha256(b"".join(v.tobytes() for v in vectors)).hexdigest(),
    }


def answer(sc, request):
    def fit(conf, data, **options):
        net = SparkNetwork(sc, conf, request.master)
        history = net.fit(data, **options)
        return net.network, history

    try:
        return train(request, fit)
    except Exception as error:  # of any kind, so that later requests are served
        return {"error": f"{type(error).__name__}: {error}"}


def main(master, config):
    all_awaited()
    with session(master, json.loads(config), name="two hosts") as spark:
        for line in sys.stdin:
            found = answer(spark.sparkContext, Request(**json.loads(line)))
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
