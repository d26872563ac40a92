"""Servers of a store as one worker reaches them: connections to all, and the local one."""

from collections import Counter

from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.store.client.request_queue import (
    CLOSED,
    LocalServer,
    RemoteServer,
    RequestQueue,
    answers,
)
from sparkdl.exchange.store.server.places import DRIVER
from sparkdl.exchange.store.server.store_server import StoreServer


class Servers:
    """The servers of a store; requests go to all at once, and the first failure ends the store.

    Parameters
    ----------
    places : Places
    ranks : list of int
        Ranks that hold keys. Requests refer to servers by their index in this list.
    channel : str
        Name of the store.
    options : StoreOptions
    """

    def __init__(self, places, ranks, channel, options):
        self.places, self.ranks = places, ranks
        self.local_server, self.failure, self.closed = None, None, False
        self._options, self._channel, self._queues = options, channel, []
        self._open()

    def ask(self, requests):
        """Sends {server: (object, arrays, into)}, to all at once; returns {server: answer}."""
        if self.closed or self.failure:
            raise self.failure or ConfigError(CLOSED)
        try:
            return answers({i: self._queues[i].ask(*request) for i, request in requests.items()})
        except PeerError as error:
            self.fail((self.local_server and self.local_server.failure) or error)
            raise self.failure from error

    def ask_all(self, verb, **more):
        """Returns the answers of all servers to a request without arrays."""
        return self.ask({i: ({"verb": verb} | more, (), None) for i in range(len(self.ranks))})

    def run_on_first(self, act):
        """Runs act() on rank 0 while the others wait; an error in it fails the store for all."""
        self.barrier()
        if self.places.rank == 0:
            try:
                act()
            except Exception as error:
                host = self.places.endpoint.address[0]
                what = f"{type(error).__name__}: {error}"
                self.fail(PeerError(self.places.rank, host, what))
                raise
        self.barrier()

    def barrier(self):
        """Waits until all active workers have called this."""
        self.ask({0: ({"verb": "barrier"}, (), None)})

    @property
    def sent_by_rank(self):
        """Bytes of arrays sent by this process, as worker and as server, {rank: bytes}."""
        sent = Counter(self.local_server.service.sent_by_rank if self.local_server else {})
        for rank, queue in zip(self.ranks, self._queues, strict=False):  # fewer while opening
            sent[rank] += queue.server.sent_bytes
        return sent

    def fail(self, error):
        """Fails the store, and tells all servers, so that all ranks name the same culprit."""
        if self.failure:
            return
        self.failure = error
        for queue in self._queues:
            queue.server.fail(error)

    def close(self):
        """Closes at once, without waiting for other processes."""
        self.closed = True
        for queue in self._queues:
            queue.close()
        if self.local_server:
            self.local_server.close()
        if self.places.owned:
            self.places.endpoint.close()

    def _open(self):
        places, options = self.places, self._options
        if places.rank in self.ranks:
            channel = {"channel": self._channel, "options": options}
            self.local_server = StoreServer(places.endpoint, places.size, places.rank, **channel)
        try:
            for rank in self.ranks:
                self._queues.append(RequestQueue(self._server_of(rank)))
            self.ask_all("hello", options=options.to_dict())
        except BaseException:
            self.close()
            raise

    def _server_of(self, rank):
        if rank == self.places.rank:
            return LocalServer(self.local_server.service, rank)
        address, known = self.places.addresses[rank], None if rank == DRIVER else rank
        timeout, endpoint = self._options.timeout, self.places.endpoint
        try:
            sock = endpoint.connect(address, self._channel, self.places.rank, timeout)
        except PeerError as error:  # its error knows only the address
            raise PeerError(known, error.host, error.what) from error
        limit = timeout + self._options.stall_timeout  # a server waits so long for others
        return RemoteServer(Wire(sock, address[0], timeout, rank=known), limit)
