"""Requests to one server, one after the other, until the queue is closed."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.exchange.store.client.request_queue import RequestQueue


class Echo:
    """A server that answers with what it is asked."""

    is_closed = False

    def talk(self, meta, arrays, into):
        return meta, arrays

    def close(self):
        self.is_closed = True


def test_a_request_is_answered_until_the_queue_is_closed():
    queue = RequestQueue(Echo())
    assert queue.ask({"verb": "pull"}, [1]).result(5) == ({"verb": "pull"}, [1])
    queue.close()
    assert queue.server.is_closed
    with pytest.raises(ConfigError, match="^the store is closed and cannot be used$"):
        queue.ask({"verb": "pull"}).result(5)  # in a thread that has not seen the close
