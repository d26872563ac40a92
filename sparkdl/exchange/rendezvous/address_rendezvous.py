"""Rendezvous at an address: one process listens, and sends each member the texts of all."""

import contextlib
import json
import threading

from sparkdl.errors import WorkerError
from sparkdl.exchange.connections.deadline import Deadline
from sparkdl.exchange.connections.dialer import dial
from sparkdl.exchange.connections.sockets import format_address
from sparkdl.exchange.messages.wire import Wire
from sparkdl.exchange.rendezvous.file_rendezvous import absent_ranks_error, check_place

CHANNEL = "meeting"
ANSWER = 5.0  # extra seconds for the server to report who is missing
LEAST = 0.01  # seconds that the server waits for the others even if the caller comes late


class AddressRendezvous:
    """A rendezvous through a RendezvousServer at an address.

    Parameters
    ----------
    address : (str, int)
        Of the RendezvousServer's Endpoint.
    secret : bytes
        Of the job.
    rank, size : int
    channel : str
        Of the RendezvousServer.
    tls, integrity
        As Endpoint takes them.
    timeout : float
        Seconds of silence after which the server's process counts as dead.
    """

    def __init__(
        self,
        address,
        secret,
        rank,
        size,
        *,
        channel=CHANNEL,
        tls=None,
        integrity=False,
        timeout=60.0,
    ):
        self.address, self.rank, self.size, self.timeout = tuple(address), rank, size, timeout
        check_place(self)
        where, layers = (self.address, secret, channel, rank), {"tls": tls, "integrity": integrity}
        self._dial = lambda limit: dial(*where, timeout=limit, **layers)
        self._wire = None

    def all_gather(self, text, timeout):
        """Returns [text of each rank].

        Raises WorkerError, which names absent ranks, after `timeout` seconds.
        """
        deadline = Deadline(timeout)
        if self._wire is None:
            sock = self._dial(min(timeout, self.timeout))
            self._wire = Wire(sock, format_address(self.address), self.timeout)
        within = LEAST if deadline.has_passed(ahead=LEAST) else deadline.remaining()
        self._wire.send({"size": self.size, "seconds": within}, text.encode())
        meta, arrays = self._wire.receive(within + ANSWER, waiting_for="the others' texts")
        if "missing" in meta:
            raise absent_ranks_error(
                meta["missing"], self.size, timeout, format_address(self.address)
            )
        if "error" in meta:
            raise WorkerError(f"the rendezvous at {format_address(self.address)} {meta['error']}")
        return json.loads(arrays[0].tobytes())

    def close(self):
        """Leaves the rendezvous."""
        if self._wire:
            with contextlib.suppress(WorkerError):  # the server may be gone already
                self._wire.send({"leaves": True})
            self._wire.finish(ANSWER)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class RendezvousServer:
    """Serves `size` members (AddressRendezvous) through an Endpoint.

    In each round every member sends one text and gets those of all.
    """

    def __init__(self, size, endpoint, channel=CHANNEL):
        self.size = size
        self._timeout = endpoint.timeout
        self._rounds = {}  # {round: {rank: text}}
        self._present = set()
        self._changed = threading.Condition()
        endpoint.serve(channel, self._attend)

    def _attend(self, rank, sock):
        with Wire(sock, "a member's host", self._timeout, rank=rank) as wire:
            reason = self._enter(rank)
            number = 0
            while not reason:
                meta, texts = wire.receive(waiting_for="its next text")
                if "leaves" in meta:
                    return
                reason = self._unlike(meta)
                if not reason:
                    self._answer(wire, number, rank, texts[0].tobytes().decode(), meta["seconds"])
                number += 1
            wire.send({"error": reason})
            wire.finish()

    def _enter(self, rank):
        with self._changed:
            if rank in self._present or not 0 <= rank < self.size:
                return f"has no place for another rank {rank}: it is of {self.size} processes"
            self._present.add(rank)

    def _unlike(self, meta):
        if meta["size"] != self.size:
            return f"is of {self.size} processes, not {meta['size']}"

    def _answer(self, wire, number, rank, text, seconds):
        with self._changed:
            texts = self._rounds.setdefault(number, {})
            texts[rank] = text
            self._changed.notify_all()
            complete = self._changed.wait_for(lambda: len(texts) == self.size, seconds)
            if complete:
                self._rounds.pop(number - 1, None)  # all members have received it
        if complete:
            everything = [texts[rank] for rank in range(self.size)]
            wire.send({}, json.dumps(everything).encode())
        else:
            wire.send({"missing": [rank for rank in range(self.size) if rank not in texts]})
