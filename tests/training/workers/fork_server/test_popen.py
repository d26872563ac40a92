"""The end of a forked process: its exit code, whoever asks for it and whatever has ended it."""

import os
import re
import signal
import subprocess
from threading import Thread
from types import SimpleNamespace

import psutil
import pytest

from sparkdl.training.workers.fork_server import contexts, own_server, popen, server_process
from sparkdl.training.workers.fork_server.popen import ForkedPopen
from sparkdl.training.workers.fork_server.process_end import describe_end
from tests.support.waiting import until
from tests.training.workers.fork_server.asked import PROCESSES, Asked, ask

ENDS = {
    "by itself": ("os._exit(3)", 3, "exit code 3"),
    "with the code of a lost server": ("os._exit(255)", 255, "exit code 255"),
    "by sys.exit": ("sys.exit(4)", 4, "exit code 4"),
    "by a signal": ("os.kill(os.getpid(), signal.SIGSEGV)", -11, "exit code -11"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", -9, "exit code -9"),
    "with its server": (
        "os.kill(os.getppid(), signal.SIGKILL) or time.sleep(60)",
        -9,
        "exit code -9, as the process that had forked it has ended",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_exit_codes(name):
    text, code, told = ENDS[name]
    with Asked() as asked:
        with pytest.raises(EOFError):
            asked(text)
        asked.process.join(60)
        assert (asked.process.exitcode, describe_end(asked.process)) == (code, told)
    assert ask("1 + 1") == 2, "the next one starts"


@pytest.mark.slow
def test_threads_that_ask_at_once_learn_the_same():
    for _ in range(20):
        with Asked() as asked:
            found = []
            threads = [Thread(target=wait_for, args=(asked.process, found)) for _ in range(4)]
            for thread in threads:
                thread.start()
            os.kill(asked.process.pid, signal.SIGTERM)
            for thread in threads:
                thread.join()
            assert found == [-15] * 4


def wait_for(process, found):
    process.join(60)
    found.append(process.exitcode)


def test_what_does_not_fit_into_a_pipe_arrives(monkeypatch):
    monkeypatch.setenv("MUCH", "x" * 100_000)
    monkeypatch.setenv("MORE", "y" * 100_000)
    assert ask("len(os.environ['MUCH'] + os.environ['MORE'])") == 200_000


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while a server has not yet forked."""


def test_one_that_nobody_waits_for_ends_by_itself(monkeypatch, capfd):
    """A notebook keeps the traceback of an interrupt, and with it the process."""
    with Asked() as known:
        server = known.server

        def interrupt(popen):
            raise Interrupted

        with monkeypatch.context() as patch, pytest.raises(Interrupted) as kept:
            patch.setattr(ForkedPopen, "_receive_pid", interrupt)
            Asked()
        until(lambda: server.children() == [psutil.Process(known.process.pid)])
        assert kept.value.__traceback__ is not None
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_a_server_that_is_silent_is_named(monkeypatch):
    """It is used no more; see test_contexts."""
    monkeypatch.setattr(popen, "STARTING", 0.2)
    monkeypatch.setattr(own_server, "GRACE", 0.1)
    found = own_server.OwnServer()
    for module in (contexts, popen):
        monkeypatch.setattr(module, "SERVER", found)
    program = "import signal; signal.pause()#{path}{file}{modules}"
    monkeypatch.setattr(server_process, "PROGRAM", program)
    with pytest.raises(own_server.ServerLost) as error:
        ForkedPopen(PROCESSES.Process(target=print))
    assert re.fullmatch(
        r"the process that forks workers \(process \d+\) has not forked one within 0.2 s",
        str(error.value),
    )
    [server] = found._retired
    server._process.kill()
    server.end()
    assert not found.is_usable


def test_a_server_that_does_not_end_is_named_and_waited_for_no_longer(caplog):
    """Such as one stuck in a file system, which no signal ends."""
    limits, server = [], server_process.ServerProcess.__new__(server_process.ServerProcess)

    def wait(limit=None):
        limits.append(limit)
        raise subprocess.TimeoutExpired("python", limit)

    server._ending, server._socket = SimpleNamespace(cancel=list), SimpleNamespace(close=list)
    server._process = SimpleNamespace(pid=42, kill=list, wait=wait, returncode=None)
    server.end()
    assert limits == [server_process.ENDING] * 2
    assert "process 42: has not ended 10 s after it was killed" in caplog.text
