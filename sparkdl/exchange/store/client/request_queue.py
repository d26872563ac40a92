"""A worker's requests to one server of a store, one after the other, in a thread of its own.

So a worker can ask all servers at the same time, and none waits for another one's answer.
"""

from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

import numpy as np

from sparkdl.error_messages import error_to_json
from sparkdl.errors import PeerError
from sparkdl.exchange.store.client.reply import check_reply


class RequestQueue:
    """Hands requests to `server.talk(meta, arrays, into)`."""

    def __init__(self, server):
        self.server, self._requests = server, SimpleQueue()
        Thread(target=self._run, daemon=True).start()

    def ask(self, meta, arrays=(), into=None):
        """Returns a Future of the answer, (object, arrays); the arrays are received into `into`."""
        future = Future()
        self._requests.put((future, meta, arrays, into))
        return future

    def close(self):
        """Ends the thread; requests that wait end with an error."""
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
    """A server in another process, which answers within `limit` seconds or counts as lost."""

    def __init__(self, wire, limit):
        self._wire, self._limit, self.sent_bytes = wire, limit, 0
        self._name = f"the store's server on {wire.peer}"

    def talk(self, meta, arrays, into):
        waiting_for = f"the answer to {meta['verb']}"
        if self._wire.ready(waiting_for="nothing"):  # the server says unasked that all is over
            check_reply(self._wire.receive()[0], self._name)
        self._wire.send(meta, *arrays)
        self.sent_bytes += sum(array.nbytes for array in arrays)
        answer = self._wire.receive(self._limit, waiting_for=waiting_for)[0]
        check_reply(answer, self._name)
        if not answer["arrays"]:
            return answer, []
        return answer, self._wire.receive(self._limit, into=into, waiting_for=waiting_for)[1]

    def fail(self, error):
        """Tells the server who is lost, even while an answer of it is awaited."""
        with suppress(PeerError):  # it may be this very server that is lost
            self._wire.send(error_to_json(error) | {"verb": "fail"})

    def close(self):
        self._wire.close()


class LocalServer:
    """The server in this process."""

    sent_bytes = 0

    def __init__(self, service, rank):
        self._service, self._rank = service, rank

    def talk(self, meta, arrays, into):
        arrays = [np.array(array) for array in arrays]  # the server keeps them
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
        """Closes nothing: nothing is open."""


def answers(futures):
    """Returns the results of {name: Future}; the first error as soon as it is there."""
    wait(futures.values(), return_when=FIRST_EXCEPTION)
    for future in futures.values():
        if future.done():
            future.result()
    return {name: future.result() for name, future in futures.items()}
