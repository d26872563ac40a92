"""Workers' warnings appear once in the driver's log."""

import logging
import socket
from contextlib import suppress

import numpy as np
import psutil
import pytest

from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.reporting.lambda_listener import LambdaListener
from sparkdl.training.resident import driver_log
from sparkdl.training.resident.driver_log import WorkerLog, kept_warnings
from sparkdl.training.workers.local import LocalWorkers
from tests.support.waiting import until
from tests.training.report.fits import CONF

X = np.random.default_rng(0).normal(size=(256, 4)).astype(np.float32)
DATA = X, (X[:, 0] > 0).astype(int)
REFUSED = "refused a connection from 127.0.0.1"


def children():
    return {*psutil.Process().children(recursive=True)}


def listening(before):
    """Returns the addresses on which this process's new descendants listen."""
    connections = [each for child in children() - before for each in connections_of(child)]
    return [each.laddr for each in connections if each.status == psutil.CONN_LISTEN]


def connections_of(process):
    with suppress(psutil.Error):  # it may have ended meanwhile
        return process.net_connections("tcp4")
    return []


def knock(before):
    """Sends garbage to each worker, which refuses the connection."""
    for address in until(lambda: listening(before)):
        with socket.create_connection(address, timeout=10) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n" * 9)
            sock.recv(1)  # until the worker hangs up


@pytest.mark.slow
def test_connections_that_workers_refuse_are_in_the_driver_s_log(caplog):
    knocked, before = [], children()

    def once(report, state):
        if not knocked:
            knocked.append(knock(before))

    with LocalWorkers(2) as workers:
        listener = LambdaListener(on_round=once)
        listener.steers = True
        master = ParameterServer(workers=2, batch_size_per_worker=8)
        Network(CONF).fit(DATA, 8, master, workers, listeners=[listener])
    lines = [record.getMessage() for record in caplog.records if REFUSED in record.getMessage()]
    assert sorted(line[:6] for line in lines) == ["rank 0", "rank 1"], caplog.text
    assert all("127.0.0.1: " in line for line in lines)


@pytest.mark.slow
def test_what_several_workers_say_stands_there_once(caplog):
    log = WorkerLog()
    log.write(0, "a", [[logging.WARNING, "no GPU"], [logging.ERROR, "no disk"]])
    log.write(1, "b", [[logging.WARNING, "no GPU"], [logging.WARNING, "no room"]])
    found = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert found == [
        ("WARNING", "rank 0 on a: no GPU"),
        ("ERROR", "rank 0 on a: no disk"),
        ("WARNING", "rank 1 on b: no room"),
    ]


def test_only_warnings_are_kept_and_no_more_than_the_most(monkeypatch):
    monkeypatch.setattr(driver_log, "MOST", 2)
    log = logging.getLogger("sparkdl.exchange")
    with kept_warnings() as kept:
        log.info("all is well")
        log.warning("%d left", 3)
        logging.getLogger("another").warning("not ours")
        assert kept.take() == [(logging.WARNING, "3 left")] and kept.take() == []
        log.error("x" * 9999)
        log.error("one too many")
    log.error("after it")
    [(level, text)] = kept.take()
    assert (level, len(text)) == (logging.ERROR, driver_log.LONGEST)
