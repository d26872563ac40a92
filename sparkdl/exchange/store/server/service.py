"""Service of a store's server, which answers the workers' requests.

A request is a JSON object with a verb and keys, and an array for each key if the verb needs one. An
answer is an object, with "error" if the request failed, and a second message with the arrays, if
any. Requests are validated before use, since a worker may malfunction.
"""

import logging
from collections import Counter
from contextlib import suppress
from queue import Full, Queue
from threading import Condition, Thread

from sparkdl.error_messages import error_from_json, error_to_json
from sparkdl.errors import DataError, PeerError, SparkdlError
from sparkdl.exchange.messages.message import pack_message
from sparkdl.exchange.messages.wire import Wire
from sparkdl.thread_start import NoThread, start_thread

log = logging.getLogger(__name__)
AHEAD = 16  # queued requests per worker


class Service:
    """Serves a Shard to workers; `attend` is a handler for Endpoint.serve."""

    def __init__(self, shard):
        self.shard = shard
        self._changed = Condition()
        self._connections, self._left, self._sent = {}, set(), Counter()
        shard.roster.watch(self._changed)
        shard.roster.on_failure(self._tell_all)

    def attend(self, rank, sock):
        """Answers one worker's requests until it hangs up."""
        timeout, host = self.shard.options.timeout, sock.getpeername()[0]
        with Wire(sock, host, timeout, rank=rank) as wire:
            connection = WorkerConnection(self, rank, wire)
            refusal = self._refusal(rank, connection)
            if refusal:
                wire.send(error_to_json(refusal) | {"arrays": 0})
                return
            self.shard.roster.hosts[rank] = host
            try:
                connection.run()
            except PeerError as error:
                self.on_disconnect(rank, error)
            except NoThread as error:  # of this process
                self.shard.fail(PeerError(None, self.shard.roster.host, str(error)))
            finally:
                with self._changed:
                    self._connections[rank] = None
                    self._changed.notify_all()

    def handle(self, rank, meta, arrays):
        """Executes a worker's request; returns the answer (object, arrays)."""
        verb = VERBS.get(meta.get("verb"))
        if verb is None:
            raise DataError(f"verb must be one of {sorted(VERBS)}, got {meta.get('verb')!r}")
        return verb(self.shard, rank, meta, arrays)

    def on_disconnect(self, rank, error):
        """Handles a worker's disconnection, which fails the store unless the worker has left."""
        if rank in self.shard.roster.active:
            self.shard.fail(error)
        else:
            self.on_departure(rank)

    def on_departure(self, rank):
        """Records that this worker has received the answer to its leaving."""
        with self._changed:
            self._left.add(rank)
            self._changed.notify_all()

    @property
    def sent_by_rank(self):
        """Bytes of arrays sent in answers, {rank: bytes}."""
        with self._changed:
            return dict(self._sent)

    def count(self, rank, nbytes):
        with self._changed:
            self._sent[rank] += nbytes

    def on_failure_known(self, connection):
        """Records that this worker has been told of the store's failure."""
        with self._changed:
            connection.knows_failure = True
            self._changed.notify_all()

    def wait(self):
        """Waits until all workers have left and have received the answer to that."""
        roster, everyone = self.shard.roster, set(range(self.shard.roster.size))

        def missing():
            return everyone - self._left

        with self._changed:
            roster.wait(self._changed, lambda: not missing(), missing, "the end")

    def wait_told(self, timeout):
        """Waits up to `timeout` seconds for connected workers to be told of the store's failure."""
        with self._changed:
            self._changed.wait_for(
                lambda: all(t is None or t.knows_failure for t in self._all()), timeout
            )

    def _all(self):
        return list(self._connections.values())

    def _tell_all(self):
        with self._changed:
            connections = self._all()
        for connection in connections:
            if connection:
                connection.tell()

    def _refusal(self, rank, connection):
        with self._changed:
            if not 0 <= rank < self.shard.roster.size:
                return DataError(f"rank must be in [0, {self.shard.roster.size}), got {rank}")
            if rank in self._connections:
                return DataError(f"rank {rank} must come once, it is here already")
            self._connections[rank] = connection


class WorkerConnection:
    """The connection to one worker. One thread reads, another one answers.

    So a worker's death is detected while it waits for an answer.
    """

    def __init__(self, service, rank, wire):
        self.knows_failure = False
        self._service, self._rank, self._wire = service, rank, wire
        self._requests = Queue(AHEAD)

    def run(self):
        """Runs until the worker hangs up; raises the PeerError."""
        name = f"sparkdl-answers-{self._rank}"
        start_thread(Thread(target=self._answer, name=name, daemon=True))
        try:
            while True:
                request = self._wire.receive(waiting_for="a request")
                if request[0].get("verb") == "fail":  # must not wait behind other requests
                    self._fail(request[0])
                else:
                    self._requests.put(request)
        finally:
            self._wire.close()  # ends an answer in progress
            self._requests.put(None)

    def tell(self):
        """Sends the store's failure unasked; else a worker without a request finds us gone."""
        with suppress(Full):  # then its queued requests are answered with it
            self._requests.put_nowait(({"verb": "failure"}, []))

    def _answer(self):
        try:
            while (request := self._requests.get()) is not None:
                verb = request[0].get("verb")
                meta, arrays = self._handle_request(*request)
                del request  # free its arrays, which may be large
                self._send(meta, arrays)
                if verb == "leave":
                    self._service.on_departure(self._rank)
                elif verb == "failure":
                    self._service.on_failure_known(self)
        except PeerError as error:
            self._service.on_disconnect(self._rank, error)
            self._wire.close()  # ends the reader
            while self._requests.get() is not None:
                pass

    def _send(self, meta, arrays):
        self._wire.send(meta | {"arrays": len(arrays)})
        if arrays:  # separately, so that the worker can receive into existing buffers
            self._wire.send({}, *arrays)
            self._service.count(self._rank, sum(array.nbytes for array in arrays))

    def _handle_request(self, meta, arrays):
        try:
            meta, arrays = self._service.handle(self._rank, meta, arrays)
            pack_message({}, arrays)  # while nothing is sent: it refuses what no message takes
            return meta, arrays
        except Exception as error:
            if not isinstance(error, SparkdlError):
                log.exception("a request of rank %d", self._rank)
            return error_to_json(error), []

    def _fail(self, meta):
        """Fails the store, as the worker has lost a peer."""
        error = error_from_json(meta, "it")
        if not isinstance(error, PeerError):
            error = PeerError(self._rank, self._wire.peer, f"named no lost worker: {error}")
        self._service.shard.fail(error)


def hello(shard, rank, meta, arrays):
    given, ours = meta.get("options"), shard.options.to_dict()
    if given != ours:
        raise DataError(
            f"options must be the same on all ranks: here they are {ours}, on rank {rank} {given}"
        )
    return {}, []


def init(shard, rank, meta, arrays):
    for key, value in zip(keys_of(meta, arrays), arrays, strict=True):
        shard.init(rank, key, value)
    return {}, []


def await_keys(shard, rank, meta, arrays):
    keys = keys_of(meta)
    for key, dtype, length in zip(
        keys,
        require_list(meta, "dtypes", str, keys),
        require_list(meta, "lengths", int, keys),
        strict=True,
    ):
        shard.await_key(rank, key, dtype, length)
    return {}, []


def push(shard, rank, meta, arrays):
    keys = keys_of(meta, arrays)
    coded, weight = require_list(meta, "coded", bool, keys), meta.get("weight")
    if type(weight) is not float or not 0 <= weight < float("inf"):
        raise DataError(f"weight must be a float >= 0, got {weight!r}")
    requests = zip(keys, arrays, coded, strict=True)
    outcomes = [shard.push(rank, key, array, weight, flag) for key, array, flag in requests]
    return {"outcomes": outcomes}, []


def pull(shard, rank, meta, arrays):
    pulled = [shard.pull(rank, key) for key in keys_of(meta)]
    return {"versions": [one.version for one in pulled]}, [one.value for one in pulled]


def barrier(shard, rank, meta, arrays):
    shard.barrier(rank)
    return {}, []


def suspend(shard, rank, meta, arrays):
    shard.leave(rank)
    return {}, []


def resume(shard, rank, meta, arrays):
    shard.resume(rank)
    return {}, []


def leave(shard, rank, meta, arrays):
    shard.leave(rank)
    return {}, []


def failure(shard, rank, meta, arrays):
    shard.roster.check()
    return {}, []


def statistics(shard, rank, meta, arrays):
    return {"statistics": shard.tally.to_dict()}, []


def slots(shard, rank, meta, arrays):
    [key] = keys_of(meta)
    arrays_by_name = shard.slots(key)
    return {"names": list(arrays_by_name)}, list(arrays_by_name.values())


def set_slots(shard, rank, meta, arrays):
    [key] = keys_of(meta)
    names = require_list(meta, "names", str, arrays)
    shard.set_slots(key, dict(zip(names, arrays, strict=True)))
    return {}, []


VERBS = {f.__name__: f for f in (hello, init, await_keys, push, pull, barrier, leave, statistics)}
VERBS |= {f.__name__: f for f in (failure, suspend, resume, slots, set_slots)}


def keys_of(meta, arrays=None):
    """Returns the keys of a request; their number must match `arrays`, if given."""
    return require_list(meta, "keys", str, arrays)


def require_list(meta, name, kind, as_long_as=None):
    """Returns a list from a request, after checking its element type and its length."""
    values = meta.get(name)
    if not isinstance(values, list) or any(type(value) is not kind for value in values):
        raise DataError(f"{name} must be a list of {kind.__name__}, got {str(values)[:100]}")
    if as_long_as is not None and len(values) != len(as_long_as):
        raise DataError(f"{name} must have {len(as_long_as)} entries, got {len(values)}")
    return values
