"""A key-value store over the processes of a group, with the verbs of MXNet's KVStore."""

from collections import defaultdict

import numpy as np

from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.store import states
from sparkdl.exchange.store.line import Line, Nearby, Remote, answers
from sparkdl.exchange.store.options import StoreOptions
from sparkdl.exchange.store.part import Outcome
from sparkdl.exchange.store.places import DRIVER
from sparkdl.exchange.store.requests import Requests, paired
from sparkdl.exchange.store.server import StoreServer
from sparkdl.exchange.store.spread import spread
from sparkdl.exchange.store.tally import added
from sparkdl.exchange.wire import Wire


class KeyValueStore:
    """Arrays by key, held by some of the processes, changed by what all of them push.

    Each worker makes one, and calls `init`, `barrier`, `set_optimizer` and the like together with
    the others. One thread at a time pushes to a key.

    Parameters
    ----------
    places : Places
        Who takes part, and where; Places.of asks a Group.
    servers : list of int, optional
        Ranks that hold keys. None: all that places have addresses of.
    channel : str
        Name of this store, where a process has several.
    options
        Of StoreOptions: mode, staleness, backup, combine, big, timeout, patience.

    Raises
    ------
    PeerError
        From every verb, on all workers: a worker or server is gone, silent for `timeout`, or has
        not come within `patience`. The store is of no more use then.

    References
    ----------
    MXNet KVStore, types dist_sync and dist_async; Li et al., Scaling distributed machine learning
    with the parameter server (2014).
    """

    def __init__(self, places, *, servers=None, channel="store", **options):
        self.options = StoreOptions(**options)
        self.rank, self.size = places.rank, places.size
        self._places, self._channel = places, channel
        self._ranks = sorted(places.addresses if servers is None else servers)
        self._lines, self._server = [], None
        self._stretches, self._dtypes, self._failure = {}, {}, None
        self._codec, self._coders = None, {}
        self._left = self._closed = False
        self._check_places()
        self._open()

    def init(self, key, value, at=None):
        """Give a new key, or a list of them, the value (a list of them) that rank 0 has.

        `at` says which server holds all of it, by its place among the servers; None leaves that to
        the keys' names, and splits big ones.
        """
        requests = Requests()
        for name, array in paired(key, value):
            places = len(self._ranks), self.options.big, at
            self._stretches[name] = spread(name, array.size, *places)
            self._dtypes[name] = array.dtype
            for stretch in self._stretches[name]:
                part = array[stretch.start : stretch.stop]
                requests.add(stretch.server, name, part, dtypes=part.dtype.str, lengths=part.size)
        if self.rank == 0:
            self._ask(requests.with_arrays("init"))
        else:
            self._ask(requests.without_arrays("await_keys"))

    def push(self, key, value, weight=1.0):
        """Send a gradient, or a list of them, to the keys' servers.

        Parameters
        ----------
        weight : float
            What `combine="mean"` divides by: examples, where the value is a sum over them.

        Returns
        -------
        Outcome, or a list of them
            Whether it was dropped (by one of its servers), and how stale it was (the most).
        """
        requests, names = Requests(), []
        for name, array in paired(key, value):
            names.append(name)
            for stretch in self._where(name, array):
                part, coded = self._coded(name, stretch, array[stretch.start : stretch.stop])
                requests.add(stretch.server, name, part, coded=coded)
        replies = self._ask(requests.with_arrays("push", weight=float(weight)))
        parts = defaultdict(list)
        for server, (meta, _) in replies.items():
            for name, outcome in zip(requests.keys[server], meta["outcomes"], strict=True):
                parts[name].append(outcome)
        outcomes = [Outcome(*map(max, zip(*parts[name], strict=True))) for name in names]
        return outcomes if isinstance(key, list | tuple) else outcomes[0]

    def pull(self, key, out):
        """Fill an array, or a list of them, with the values of keys; waits as the mode says.

        Returns
        -------
        int, or a list of them
            How many updates the value has had (of a big key, the part with the most).
        """
        requests = Requests()
        for name, array in paired(key, out, writeable=True):
            for stretch in self._where(name, array):
                requests.add(stretch.server, name, array[stretch.start : stretch.stop])
        replies = self._ask(requests.into_arrays("pull"))
        versions = defaultdict(int)
        for server, (meta, _) in replies.items():
            for name, version in zip(requests.keys[server], meta["versions"], strict=True):
                versions[name] = max(versions[name], version)
        several = isinstance(key, list | tuple)
        return [versions[str(one)] for one in key] if several else versions[str(key)]

    def pushpull(self, key, value, out=None, weight=1.0):
        """`push`, then `pull` (into the value itself where there is no `out`): push's Outcome."""
        outcome = self.push(key, value, weight)
        self.pull(key, value if out is None else out)
        return outcome

    def broadcast(self, key, value, out):
        """`init`, then `pull`: all have what rank 0 has."""
        self.init(key, value)
        self.pull(key, out)

    def barrier(self):
        """Wait until all workers still at work have come here."""
        self._ask({0: ({"verb": "barrier"}, (), None)})

    def set_optimizer(self, update, told=False):
        """Say what a gradient does to a value; all workers call it, nothing is sent.

        Without one, a step of mode "sync" replaces the value; other modes need one.

        Parameters
        ----------
        update : callable
            `update(key, value, gradient, slots)` changes `value` (n,) in place; it may change the
            gradient (n,) and keep arrays and numbers in the dict `slots`. For a big key, it is
            called for each server's part of it.
        told : bool
            Whether `update` takes a fifth argument, the Circumstances of the push.
        """
        if self._server:
            self._server.set_optimizer(update, told)
        self.barrier()

    def set_compression(self, codec):
        """Send float32 gradients as messages of a codec; all workers call it with the same one."""
        if self._server:
            self._server.set_compression(codec)
        self._codec, self._coders = codec, {}
        self.barrier()

    def save_optimizer_states(self, path):
        """Write what the optimizer keeps to a file, whole or not at all; all workers call it."""
        self._by_first(lambda: states.write(path, states.collected(self._stretches, self._slots)))

    def load_optimizer_states(self, path):
        """Give the optimizer what a file holds; all workers call it, keys must have been init."""
        self._by_first(lambda: self._set_slots(states.read(path)))

    def statistics(self):
        """Counts of all servers: pushes, dropped, pulls, bytes_in, bytes_out (of their arrays),
        and staleness {updates between pull and push: pushes}; a big key counts once per part.
        """
        replies = self._ask(self._to_all("statistics"))
        return added(meta["statistics"] for meta, _ in replies.values())

    def rest(self):
        """Say that nobody shall wait for this worker until it calls `resume`."""
        self._ask(self._to_all("rest"))

    def resume(self):
        """Take part again, as one who is as far as those that are furthest.

        All who have rested call it, while nobody pushes; then a barrier must follow.
        """
        self._ask(self._to_all("resume"))

    def leave(self):
        """Say that this worker has ended: nobody waits for it any more."""
        if not self._left:
            self._ask(self._to_all("leave"))
            self._left = True

    @property
    def sent_bytes(self):
        """Bytes of arrays that this process has sent to others, as worker and as server."""
        served = self._server.service.sent_bytes if self._server else 0
        return served + sum(line.talker.sent_bytes for line in self._lines)

    def abandon(self):
        """End at once, and wait for nobody; who still needs this process gets a PeerError."""
        if not self._closed:
            self._end()

    def close(self):
        """Leave, and wait until nobody needs the keys that are held here."""
        if self._closed:
            return
        try:
            if not self._failure:
                self.leave()
                if self._server:
                    self._server.wait()
        finally:
            self._end()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None:
            self.close()
        elif not self._closed:
            self._fail(PeerError(self.rank, self._host, f"ended with {kind.__name__}: {error}"))
            self._end()

    @property
    def _host(self):
        return self._places.endpoint.address[0]

    def _check_places(self):
        if not 0 <= self.rank < self.size:
            raise ConfigError(f"rank must be in [0, {self.size}), got {self.rank}")
        if not self._ranks or not set(self._ranks) <= set(self._places.addresses):
            known = sorted(self._places.addresses)
            raise ConfigError(f"KeyValueStore.servers must be some of {known}, got {self._ranks}")

    def _open(self):
        if self.rank in self._ranks:
            self._server = StoreServer(
                self._places.endpoint, self.size, self.rank, channel=self._channel,
                options=self.options,
            )  # fmt: skip
        try:
            for rank in self._ranks:
                self._lines.append(Line(self._talker(rank)))
            self._ask(self._to_all("hello", options=self.options.to_dict()))
        except BaseException:
            self._end()
            raise

    def _talker(self, rank):
        if rank == self.rank:
            return Nearby(self._server.service, rank)
        address, known = self._places.addresses[rank], None if rank == DRIVER else rank
        timeout, endpoint = self.options.timeout, self._places.endpoint
        try:
            sock = endpoint.connect(address, self._channel, self.rank, timeout)
        except PeerError as error:  # which knows the address only
            raise PeerError(known, error.host, error.what) from error
        limit = timeout + self.options.patience  # the server waits for others so long itself
        return Remote(Wire(sock, address[0], timeout, rank=known), limit)

    def _ask(self, requests):
        """{server: answer} of {server: (object, arrays, into)}; all are asked at the same time."""
        if self._closed or self._failure:
            raise self._failure or ConfigError("a store that is closed cannot be used")
        try:
            return answers({i: self._lines[i].ask(*request) for i, request in requests.items()})
        except PeerError as error:
            self._fail((self._server and self._server.failure) or error)
            raise self._failure from error

    def _to_all(self, verb, **more):
        return {i: ({"verb": verb} | more, (), None) for i in range(len(self._ranks))}

    def _where(self, name, array):
        if name not in self._stretches:
            raise ConfigError(f"key must have a value, got {name!r}; there are "
                              f"{sorted(self._stretches)[:10]}")  # fmt: skip
        stretches, dtype = self._stretches[name], self._dtypes[name]
        if (array.size, array.dtype) != (stretches[-1].stop, dtype):
            raise ConfigError(f"array for {name!r} must have {stretches[-1].stop} of {dtype}, "
                              f"got {array.size} of {array.dtype}")  # fmt: skip
        return stretches

    def _coded(self, name, stretch, part):
        """What to send for a part of a gradient, and whether it is a codec's message."""
        if self._codec is None or part.dtype != np.float32:
            return part, False
        if (name, stretch) not in self._coders:
            self._coders[name, stretch] = self._codec.coder(part.size)
        return self._coders[name, stretch].encode(part), True

    def _slots(self, name, stretch):
        request = {"verb": "slots", "keys": [name]}, (), None
        [(meta, arrays)] = self._ask({stretch.server: request}).values()
        return dict(zip(meta["names"], arrays, strict=True))

    def _set_slots(self, kept):
        for name, stretch, slots in states.dealt(kept, self._stretches):
            meta = {"verb": "set_slots", "keys": [name], "names": list(slots)}
            self._ask({stretch.server: (meta, list(slots.values()), None)})

    def _by_first(self, act):
        """Rank 0 acts while the others wait; if it cannot, the store fails for all."""
        self.barrier()
        if self.rank == 0:
            try:
                act()
            except Exception as error:
                self._fail(PeerError(self.rank, self._host, f"{type(error).__name__}: {error}"))
                raise
        self.barrier()

    def _fail(self, error):
        """Let everybody know, so that all name the same culprit."""
        if self._failure:
            return
        self._failure = error
        for line in self._lines:
            line.talker.fail(error)

    def _end(self):
        self._closed = True
        for line in self._lines:
            line.close()
        if self._server:
            self._server.close()
        if self._places.owned:
            self._places.endpoint.close()
