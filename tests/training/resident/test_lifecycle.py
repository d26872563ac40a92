"""Workers announce their devices before they join a group, which a driver brings together."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

from sparkdl.errors import PeerError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.rendezvous.address_rendezvous import RendezvousServer
from sparkdl.nn.execution.device import PROCESSOR
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.resident import lifecycle

SECRET = b"the secret of this launch"
CARD = "NVIDIA H200 (GPU-1)"
DEVICES = {
    "a GPU each": ([CARD, "NVIDIA H200 (GPU-2)"], None),
    "two on one GPU": ([CARD, "NVIDIA H200 (GPU-2)", CARD], f"2 workers compute on one {CARD}:"),
    "the processors of hosts": ([PROCESSOR, PROCESSOR], None),
}


@pytest.fixture
def driver():
    with Endpoint(SECRET, timeout=30.0) as endpoint:
        yield endpoint


def setup_of(driver, size, **options):
    """Returns the setup of a launch whose driver is this process."""
    return SimpleNamespace(
        master=AllReduceSGD(**{"timeout": 30.0} | options),
        secret=SECRET,
        address=driver.address,
        schedule=SimpleNamespace(workers=size),
        layers={},  # no TLS or checksums
    )


def joined(shared, devices):
    """Returns the groups of workers with these devices."""
    with ThreadPoolExecutor(len(devices)) as pool:
        return list(pool.map(partial(lifecycle.join_group, shared), range(len(devices)), devices))


@pytest.mark.parametrize("name", DEVICES)
def test_workers_on_one_gpu_are_told(name, driver, monkeypatch, caplog):
    devices, expected = DEVICES[name]
    monkeypatch.setattr(lifecycle.Group, "form", lambda rendezvous, secret, **options: "a group")
    RendezvousServer(len(devices), driver)
    assert joined(setup_of(driver, len(devices)), devices) == ["a group"] * len(devices)
    if expected is None:
        assert not caplog.text
    else:
        assert expected in caplog.text and "spark.task.resource.gpu.amount=1" in caplog.text


@pytest.mark.slow
def test_workers_find_each_other_at_the_driver(driver):
    RendezvousServer(3, driver)
    groups = joined(setup_of(driver, 3), [PROCESSOR] * 3)
    assert [(group.rank, group.size) for group in groups] == [(0, 3), (1, 3), (2, 3)]
    for group in groups:
        group.close()


@pytest.mark.slow
def test_who_waits_too_long_names_those_who_are_missing(driver):
    RendezvousServer(3, driver)
    with pytest.raises(WorkerError, match=r"^2 of 3 processes have not come to .* rank 1, 2$"):
        lifecycle.join_group(setup_of(driver, 3, stall_timeout=0.3), 0, PROCESSOR)


@pytest.mark.slow
def test_a_driver_that_ends_is_named(driver):
    RendezvousServer(2, driver)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lifecycle.join_group, setup_of(driver, 2, timeout=2.0), 0, PROCESSOR)
        driver.close()
        with pytest.raises(PeerError, match="127.0.0.1"):
            waiting.result()
