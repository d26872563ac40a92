"""Two executors with one GPU each, then one task with two, as Spark's resource discovery reports.

The GPUs are the host's double.

Its argument is a folder. It prints what it found, as JSON.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import session
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from tests.spark.networks import arrays, data, plain
from tests.support.cuda.daemon import IN_TESTS
from tests.support.cuda.spawned import OnHost, here
from tests.support.executors import all_awaited

# The first caller gets GPU 0, the next one GPU 1.
EACH = """#!/bin/sh
n=0; until mkdir {folder}/$n 2> /dev/null; do n=$((n + 1)); done
echo "{{\\"name\\": \\"gpu\\", \\"addresses\\": [\\"$n\\"]}}"
"""
BOTH = """#!/bin/sh
echo '{{"name": "gpu", "addresses": ["0", "1"]}}'
"""
EACH_OF_ALL = {"batch_size_per_worker": 10, "seed": 1}
OPTIONS = EACH_OF_ALL | {"workers": 2}
MASTERS = {
    "on the processor": AllReduceSGD(device="cpu", **OPTIONS),
    "together": AllReduceSGD(device="cuda", **OPTIONS),
    "rounds": ParameterAveraging(
        aggregation="driver", device="cuda", averaging_frequency=1, **OPTIONS
    ),
}


class Deadly(OnHost):
    """Kills the process that transforms, the first time on the cluster."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def __call__(self, batch):
        with suppress(FileExistsError):
            Path(self.folder, "killed").mkdir()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch

    def __reduce__(self):
        return revived, (self.module, self.folder)


def revived(module, folder):
    here(module)
    return Deadly(folder)


def main(folder):
    all_awaited()
    found = {}
    with session("local-cluster[2,1,1024]", dealing(folder, EACH, 1), name="gpu fit") as spark:
        for name, master in MASTERS.items():
            net = SparkNetwork(spark, plain(), master)
            history = net.fit(arrays(transform=OnHost()), validation=arrays(transform=OnHost()))
            found[name] = told(history)
        net = SparkNetwork(spark, plain(), MASTERS["together"])
        history = net.fit(arrays(transform=Deadly(folder)))
        found["killed"] = [restart.reason for restart in history.restarts]
        found["again"] = history.epochs[0].loss
        frame = spark.createDataFrame([(x.tolist(),) for x in data(20)[0]], ["features"])
        net.evaluate(arrays(transform=OnHost()), device="cpu")
        found["used on the processor"] = net.devices
        net = SparkNetwork(spark, net.network, MASTERS["on the processor"])
        rows = net.predict(frame, transform=OnHost(), device="cuda").collect()
        found["predicted"] = [row.probability for row in rows]
        found["expected"] = net.network.predict(data(20)[0]).tolist()
        net.evaluate(arrays(transform=OnHost()), device="cuda")
        net.features(arrays(transform=OnHost()), "dense_1", device="cuda").collect()
        found["used"] = net.devices
    with session("local-cluster[1,1,1024]", dealing(folder, BOTH, 2), name="two gpus") as spark:
        net = SparkNetwork(spark, plain(), AllReduceSGD(device="cuda", **EACH_OF_ALL))
        history = net.fit(arrays(transform=OnHost()), validation=arrays(transform=OnHost()))
        found["in one task"] = told(history)
        net = SparkNetwork(
            spark, plain(), ParameterAveraging(aggregation="driver", device="cuda", **EACH_OF_ALL)
        )
        history = net.fit(arrays(transform=OnHost()))
        found["rounds of one task"] = history.rounds[0].devices
        net.evaluate(arrays(transform=OnHost()))
        net.predict(arrays(transform=OnHost())).collect()
        found["uses of one task"] = net.devices
    print(json.dumps(found))


def told(history):
    epoch = history.epochs[0]
    losses = [epoch.loss, epoch.validation.loss]
    return {"devices": history.rounds[0].devices, "losses": losses}


def dealing(folder, text, amount):
    """Settings of Spark that give a task `amount` of the GPUs that a discovery script reports."""
    script = Path(folder, f"gpus_{amount}.sh")
    script.write_text(text.format(folder=folder))
    script.chmod(0o755)
    config = {f"spark.{of}.resource.gpu.amount": amount for of in ("worker", "executor", "task")}
    return config | IN_TESTS | {"spark.worker.resource.gpu.discoveryScript": str(script)}


if __name__ == "__main__":
    main(sys.argv[1])
