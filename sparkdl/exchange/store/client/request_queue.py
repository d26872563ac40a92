"""Queue of a worker's requests to one server, sent one after the other in its own thread.

So a worker asks all servers at once, and none waits for another's answer.
"""

from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread

import numpy as np

from sparkdl.error_messages import error_to_json
from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.store.client.reply import check_reply
from sparkdl.thread_start import start_thread

CLOSED = "the store is closed and cannot be used"


class RequestQueue:
    """Passes requests to `server.talk(meta, arrays, into)`."""

    def __init__(self, server):
        self.server, self._requests = server, SimpleQueue()
        self._is_closed, self._changed = False, Lock()
        start_thread(Thread(target=self._run, daemon=True))

    def ask(self, meta, arrays=(), into=None):
        """Returns a Future of the answer (object, arrays); arrays are received into `into`.

        Raises ConfigError after `close`.
        """
        future = Future()
        with self._changed:
            if self._is_closed:
                raise ConfigError(CLOSED)
            self._requests.put((future, meta, arrays, into))
        return future

    def close(self):
        """Ends the thread; queued requests fail with an error."""
        with self._changed:
            self._is_closed = True
        self.server.close()
        self._requests.put(None)

    def _run(self):
        while (request := self._requests.get()) is not None:
            future, *arguments = request
            try:
                future.set_result(self.server.talk(*arguments))
            except BaseException as error:
                future.set_exception(error)
            del request, future, arguments


class RemoteServer:
    """A server in another process, which must answer within `limit` seconds."""

    def __init__(self, wire, limit):
        self._wire, self._limit, self.sent_bytes = wire, limit, 0
        self._name = f"the store's server on {wire.peer}"

    def talk(self, meta, arrays, into):
        waiting_for = f"the answer to {meta['verb']}"
        if self._wire.ready(waiting_for="nothing"):  # it failed and says so unasked
            check_reply(self._wire.receive()[0], self._name)
        self._wire.send(meta, *arrays)
        self.sent_bytes += sum(array.nbytes for array in arrays)
        answer = self._wire.receive(self._limit, waiting_for=waiting_for)[0]
        check_reply(answer, self._name)
        if not answer["arrays"]:
            return answer, []
        return answer, self._wire.receive(self._limit, into=into, waiting_for=waiting_for)[1]

    def fail(self, error):
        """Reports a lost peer to the server, even while an answer is awaited."""
        with suppress(PeerError):  # this server may be the lost peer
            self._wire.send(error_to_json(error) | {"verb": "fail"})

    def close(self):
        self._wire.close()


class LocalServer:
    """The server in this process."""

    sent_bytes = 0

    def __init__(self, service, rank):
        self._service, self._rank = service, rank

    def talk(self, meta, arrays, into):
        arrays = [np.array(array) for array in arrays]  # the server takes them over
        answer, results = self._service.handle(self._rank, meta, arrays)
        if into is not None:
            for out, result in zip(into, results, strict=True):
                np.copyto(out, result)
        if meta["verb"] == "leave":
            self._service.on_departure(self._rank)
        return answer, results

    def fail(self, error):
        self._service.shard.fail(error)

    def close(self):
        """Does nothing: nothing is open."""


def answers(futures):
    """Returns the results of {name: Future}; raises the first error as soon as it occurs."""
    wait(futures.values(), return_when=FIRST_EXCEPTION)
    for future in futures.values():
        if future.done():
            future.result()
    return {name: future.result() for name, future in futures.items()}
