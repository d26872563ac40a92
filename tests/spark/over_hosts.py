"""A driver on one of two hosts: trains with each given master, and reports the results.

Its arguments are the session's master and config. It reads requests, a line of JSON each, and
answers with such a line: name of a master, a folder where workers leave the name of their host, a
file that they wait for, or null, and options of the master that are to be others.
"""

import hashlib
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from platform import node

from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from tests.spark.networks import arrays, rich
from tests.support.executors import all_awaited
from tests.training.master_table import MASTERS

RECORDS, EPOCHS = 62, 2


@dataclass(frozen=True)
class Named:
    """A transform that changes nothing."""

    folder: str
    gate: str | None

    def __call__(self, batch):
        Path(self.folder, node()).touch()
        while self.gate and not Path(self.gate).exists():
            time.sleep(0.05)
        return batch


def told(fit, folder, gate=None):
    """What is told of a fit: `fit(conf, data, **options)` gives a Network and a History."""
    data = arrays(RECORDS, records_per_split=25, transform=Named(str(folder), gate))
    network, history = fit(rich(), data, epochs=EPOCHS, validation=arrays(31))
    vectors = (network.state.params, network.state.buffers, network.state.slots)
    return {
        "examples": [epoch.examples for epoch in history.epochs],
        "loss": [epoch.loss for epoch in history.epochs],
        "judged": [epoch.validation.examples for epoch in history.epochs],
        "hosts": sorted(path.name for path in Path(folder).iterdir()),
        "restarts": list(map(str, history.restarts)),
        "vectors": hashlib.sha256(b"".join(v.tobytes() for v in vectors)).hexdigest(),
    }


def on_spark(sc, master):
    def fit(conf, data, **options):
        net = SparkNetwork(sc, conf, master)
        history = net.fit(data, **options)
        return net.network, history

    return fit


def answer(sc, name, folder, gate, options):
    try:
        master = replace(MASTERS[name].master, workers=2, **options)
        return told(on_spark(sc, master), folder, gate)
    except Exception as error:  # of any kind: others have their turn
        return {"error": f"{type(error).__name__}: {error}"}


def main(master, config):
    all_awaited()
    with session(master, json.loads(config), name="two hosts") as spark:
        for line in sys.stdin:
            print(json.dumps(answer(spark.sparkContext, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
