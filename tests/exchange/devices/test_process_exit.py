"""The exit of a process that may be stuck."""

from sparkdl.exchange.devices.process_exit import end_soon
from tests.exchange.few_threads import no_thread


def test_an_exit_without_a_thread_is_logged_and_what_follows_goes_on(monkeypatch, caplog):
    with no_thread(monkeypatch, "Thread-"):
        ending = end_soon("rank 0 is stuck")
    ending.cancel()
    [record] = caplog.records
    assert record.getMessage().startswith("this process may hang: process ")
    assert not ending.is_alive()
