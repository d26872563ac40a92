"""When an exchange chooses NCCL, and the reason given when it does not."""

import logging
import re

import numpy as np
import pytest

from sparkdl.engine.backends.cuda.backend import Cuda
from sparkdl.errors import ConfigError
from sparkdl.exchange.devices.choice import DeviceInfo, is_carried, obstacle
from sparkdl.exchange.devices.device_links import link_devices
from sparkdl.exchange.devices.group import DeviceGroup
from tests.exchange.crew import crew
from tests.exchange.devices.places import backend_of
from tests.support.cuda.host_driver import HostDriver

A, B = {"host": "a", "version": "2.27.7"}, {"host": "b", "version": "2.27.7"}
CPU, BARE = (
    DeviceInfo(host="c", gpu=False),
    DeviceInfo(host="c", obstacle_text="is without NCCL: install it"),
)

ROWS = {
    "one each": ([DeviceInfo(device="x", **A), DeviceInfo(device="y", **A)], None),
    "on two hosts": ([DeviceInfo(device="x", **A), DeviceInfo(device="y", **B)], None),
    "a processor": ([DeviceInfo(device="x", **A), CPU], "rank 1 on c computes on the processor"),
    "no NCCL": ([BARE, CPU], "rank 0 on c is without NCCL: install it"),
    "one for two": (
        [DeviceInfo(device="x", **A), DeviceInfo(device="y", **A), DeviceInfo(device="x", **A)],
        "ranks 0, 2 on a share the GPU x, but NCCL needs one for each: "
        "spark.task.resource.gpu.amount=1 gives each task its own",
    ),
    "two versions": (
        [DeviceInfo(device="x", **A), DeviceInfo(device="y", host="b", version="2.28.9")],
        "NCCL is not the same everywhere: rank 0 2.27.7; rank 1 2.28.9 (on a, b)",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_stands_in_the_way_is_told_with_the_ranks(name):
    places, expected = ROWS[name]
    assert obstacle([DeviceInfo.unpack(place.pack()) for place in places]) == expected


@pytest.mark.parametrize(
    "dtype, op, expected",
    [
        ("float32", "sum", True),
        ("float16", "sum", True),
        ("float32", "max", False),
        ("float64", "sum", False),
        ("int64", "sum", False),
    ],
)
def test_sums_of_16_and_32_bits_are_carried(dtype, op, expected):
    assert is_carried(np.zeros(3, dtype), op) is expected
    assert not is_carried([1.0], op)


OWN, SAME = "GPU-{rank}", "GPU-7"
CHOICES = {
    "one each": ("auto", OWN, (22707, 22707), "nccl", "2 GPUs exchange .* by NCCL 2.27.7"),
    "wished": ("nccl", OWN, (22707, 22707), "nccl", "by NCCL 2.27.7"),
    "not wished": ("sockets", OWN, (22707, 22707), "sockets", None),
    "shared": ("auto", SAME, (22707, 22707), "sockets", "hosts: ranks 0, 1 on .* GPU GPU-7"),
    "shared, wished": ("nccl", SAME, (22707, 22707), "refused", "got 'nccl': ranks 0, 1 .* share"),
    "versions": ("auto", OWN, (22707, 22809), "sockets", "rank 0 2.27.7; rank 1 2.28.9"),
    "versions, wished": ("nccl", OWN, (22707, 22809), "refused", "not the same everywhere"),
    "one without": ("auto", OWN, (22707, None), "sockets", "rank 1 on .* computes on the pro"),
    "without NCCL": ("auto", OWN, ("", ""), "sockets", "hosts: rank 0 on .* is without NCCL: "),
    "all without": ("auto", OWN, (None, None), "sockets", None),
    "all without, wished": ("nccl", OWN, (None, None), "refused", "rank 0 on .* computes on"),
}


def ways(group, folder):
    """Returns {name: (how the ranks exchange, what was logged)} for all rows in turn."""
    lines, log = [], logging.getLogger("sparkdl.exchange.devices.device_links")
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return {name: way(group, folder, lines, *row[:3]) for name, row in CHOICES.items()}


def way(group, folder, lines, wish, device, versions):
    def make():
        if not versions[group.rank]:
            return Cuda(HostDriver()).link({}) if versions[group.rank] == "" else None
        return backend_of(group, folder, device, versions[group.rank]).link({})

    lines.clear()
    try:
        found = link_devices(group, make, wish)
    except ConfigError as error:
        return "refused", str(error)
    total = found.all_reduce(np.ones(5, np.float32))
    assert total.tolist() == [2.0] * 5
    return "nccl" if isinstance(found, DeviceGroup) else "sockets", "; ".join(lines)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    return crew(2, ways, tmp_path_factory.mktemp("meetings"))


@pytest.mark.parametrize("name", CHOICES)
def test_all_ranks_choose_alike_and_the_first_says_so(name, chosen):
    *_, expected, said = CHOICES[name]
    (first, text), (second, other) = (found[name] for found in chosen)
    assert first == second == expected
    assert re.search(said, text) if said else text == ""
    assert other == (text if expected == "refused" else "")
