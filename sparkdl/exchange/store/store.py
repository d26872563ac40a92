"""Key-value store over the processes of a group, with the verbs of MXNet's KVStore."""

from collections import defaultdict

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.exchange.codecs.joint_state import join_states, restore_joined
from sparkdl.exchange.store.client import optimizer_states
from sparkdl.exchange.store.client.key_layout import spread
from sparkdl.exchange.store.client.request_batch import Requests, pair_keys_and_vectors
from sparkdl.exchange.store.client.servers import Servers
from sparkdl.exchange.store.server.counters import add_tallies
from sparkdl.exchange.store.server.key_part import Outcome
from sparkdl.exchange.store.server.options import StoreOptions


class KeyValueStore:
    """Arrays by key, held by some of the processes and updated by the pushes of all.

    Each worker creates one, and calls `init`, `barrier`, `set_optimizer` and the like together with
    the others. Only one thread at a time may push to a key.

    Parameters
    ----------
    places : Places
        Ranks and addresses; Places.of gets them from a Group.
    servers : list of int, optional
        Ranks that hold keys. None: all whose addresses are in `places`.
    channel : str
        Name of this store; must differ for several stores in a process.
    options
        Of StoreOptions: mode, staleness, backup, combine, big, timeout, stall_timeout.

    Raises
    ------
    PeerError
        From every method, on all workers: a worker or server is lost, silent for `timeout`, or has
        not done its part within `stall_timeout`. The store is then unusable.

    References
    ----------
    MXNet KVStore, types dist_sync and dist_async; Li et al., Scaling distributed machine learning
    with the parameter server (2014).
    """

    def __init__(self, places, *, servers=None, channel="store", **options):
        self.options = StoreOptions(**options)
        self.rank, self.size = places.rank, places.size
        ranks = sorted(places.addresses if servers is None else servers)
        check_places(places, ranks)
        self._slices, self._dtypes = {}, {}
        self._codec, self._coders, self._left = None, {}, False
        self._servers = Servers(places, ranks, channel, self.options)

    def init(self, key, value, at=None):
        """Gives new keys the values that rank 0 has; takes a key and an array, or lists of both.

        `at` is the index of the server that holds all of them; None chooses servers by the keys'
        names, and divides big arrays.
        """
        requests = Requests()
        for name, array in pair_keys_and_vectors(key, value):
            places = len(self._servers.ranks), self.options.big, at
            self._slices[name] = spread(name, array.size, *places)
            self._dtypes[name] = array.dtype
            for key_slice in self._slices[name]:
                part = array[key_slice.start : key_slice.stop]
                requests.add(key_slice.server, name, part, dtypes=part.dtype.str, lengths=part.size)
        if self.rank == 0:
            self._servers.ask(requests.with_arrays("init"))
        else:
            self._servers.ask(requests.await_keys())

    def push(self, key, value, weight=1.0):
        """Sends gradients to their keys' servers; takes a key and an array, or lists of both.

        Parameters
        ----------
        weight : float
            Contribution to the divisor of `combine="mean"`: the number of examples if `value` is a
            sum over examples.

        Returns
        -------
        Outcome, or a list of them
            Whether it was dropped (by any of its servers), and its staleness (the largest).
        """
        requests, names = Requests(), []
        for name, array in pair_keys_and_vectors(key, value):
            names.append(name)
            for key_slice in self._where(name, array):
                part, coded = self._encode(name, key_slice, array[key_slice.start : key_slice.stop])
                requests.add(key_slice.server, name, part, coded=coded)
        replies = self._servers.ask(requests.with_arrays("push", weight=float(weight)))
        parts = defaultdict(list)
        for server, (meta, _) in replies.items():
            for name, outcome in zip(requests.keys[server], meta["outcomes"], strict=True):
                parts[name].append(outcome)
        outcomes = [Outcome(*map(max, zip(*parts[name], strict=True))) for name in names]
        return outcomes if isinstance(key, list | tuple) else outcomes[0]

    def pull(self, key, out):
        """Fills arrays with the values of keys, for one key or a list; waits as the mode requires.

        Returns
        -------
        int, or a list of them
            Number of updates of the value (for a big key, of the part with the most).
        """
        requests = Requests()
        for name, array in pair_keys_and_vectors(key, out, writeable=True):
            for key_slice in self._where(name, array):
                requests.add(key_slice.server, name, array[key_slice.start : key_slice.stop])
        replies = self._servers.ask(requests.pull())
        versions = defaultdict(int)
        for server, (meta, _) in replies.items():
            for name, version in zip(requests.keys[server], meta["versions"], strict=True):
                versions[name] = max(versions[name], version)
        several = isinstance(key, list | tuple)
        return [versions[str(one)] for one in key] if several else versions[str(key)]

    def barrier(self):
        """Waits until all active workers have called this."""
        self._servers.barrier()

    def set_optimizer(self, update, with_context=False):
        """Sets the function that applies a gradient to a value; all workers must call it.

        Without one, a step of mode "sync" replaces the value; other modes require one.

        Parameters
        ----------
        update : callable
            `update(key, value, gradient, slots)` updates `value` (n,) in place; it may modify the
            gradient (n,) and keep arrays and numbers in the dict `slots`. For a big key, it is
            called for each server's part of it.
        with_context : bool
            Whether `update` takes a fifth argument, the UpdateContext of the push.
        """
        if self._servers.local_server:
            self._servers.local_server.set_optimizer(update, with_context)
        self.barrier()

    def set_compression(self, codec):
        """Compresses float32 gradients with a codec; all workers must call it with the same one."""
        if self._servers.local_server:
            self._servers.local_server.set_compression(codec)
        self._codec, self._coders = codec, {}
        self.barrier()

    def compression_state(self, key):
        """Returns the codec's state for this worker's pushes to a key, {name: vector}.

        "residual" has the part of each of the key's numbers that is not yet sent.
        """
        return join_states(self._coders_of(key))

    def restore_compression(self, key, state):
        """Restores `compression_state`; raises CheckpointError if it does not fit."""
        restore_joined(self._coders_of(key), state)

    def save_optimizer_states(self, path):
        """Writes the optimizer's state to a file, atomically; all workers must call it."""
        self._servers.run_on_first(
            lambda: optimizer_states.write(
                path, optimizer_states.collect_states(self._slices, self._slots)
            )
        )

    def load_optimizer_states(self, path):
        """Restores the optimizer's state from a file; all workers must call it, after `init`."""
        self._servers.run_on_first(lambda: self._set_slots(optimizer_states.read(path)))

    def statistics(self):
        """Returns the summed counts of all servers.

        They are pushes, dropped, pulls, bytes_in and bytes_out (of arrays), and staleness, {updates
        between pull and push: pushes}. A big key counts once per part.
        """
        replies = self._servers.ask_all("statistics")
        return add_tallies(meta["statistics"] for meta, _ in replies.values())

    def suspend(self):
        """Suspends this worker: others do not wait for it until it calls `resume`."""
        self._servers.ask_all("suspend")

    def resume(self):
        """Makes this worker active again, with the progress of the furthest workers.

        All suspended workers must call it while nobody pushes; a barrier must follow.
        """
        self._servers.ask_all("resume")

    def leave(self):
        """Ends this worker's part: others no longer wait for it."""
        if not self._left:
            self._servers.ask_all("leave")
            self._left = True

    @property
    def sent_by_rank(self):
        """Bytes of arrays sent by this process, as worker and as server, {rank: bytes}."""
        return self._servers.sent_by_rank

    def abandon(self):
        """Closes at once without waiting; a worker that needs this process gets a PeerError."""
        if not self._servers.closed:
            self._servers.close()

    def close(self):
        """Leaves, and waits until the keys held here are no longer needed."""
        if self._servers.closed:
            return
        try:
            if not self._servers.failure:
                self.leave()
                if self._servers.local_server:
                    self._servers.local_server.wait()
        finally:
            self._servers.close()

    def _where(self, name, array):
        if name not in self._slices:
            raise ConfigError(f"key must have a value, got {name!r}; there are "
                              f"{sorted(self._slices)[:10]}")  # fmt: skip
        key_slices, dtype = self._slices[name], self._dtypes[name]
        if (array.size, array.dtype) != (key_slices[-1].stop, dtype):
            raise ConfigError(f"array for {name!r} must have {key_slices[-1].stop} of {dtype}, "
                              f"got {array.size} of {array.dtype}")  # fmt: skip
        return key_slices

    def _encode(self, name, key_slice, part):
        """Returns the array to send for a slice of a gradient, and whether a codec encoded it."""
        if self._codec is None or part.dtype != np.float32:
            return part, False
        return self._coder(name, key_slice).encode(part), True

    def _coder(self, name, key_slice):
        if (name, key_slice) not in self._coders:
            self._coders[name, key_slice] = self._codec.coder(key_slice.stop - key_slice.start)
        return self._coders[name, key_slice]

    def _coders_of(self, key):
        """Returns the coders of all slices of a key, in order."""
        coded = self._codec is not None and self._dtypes[str(key)] == np.float32
        return [self._coder(str(key), one) for one in self._slices[str(key)] if coded]

    def _slots(self, name, key_slice):
        request = {"verb": "slots", "keys": [name]}, (), None
        [(meta, arrays)] = self._servers.ask({key_slice.server: request}).values()
        return dict(zip(meta["names"], arrays, strict=True))

    def _set_slots(self, states):
        for name, key_slice, slots in optimizer_states.split_states(states, self._slices):
            meta = {"verb": "set_slots", "keys": [name], "names": list(slots)}
            self._servers.ask({key_slice.server: (meta, list(slots.values()), None)})


def check_places(places, ranks):
    """Raises ConfigError if the rank is out of range or a server's address is unknown."""
    if not 0 <= places.rank < places.size:
        raise ConfigError(f"rank must be in [0, {places.size}), got {places.rank}")
    if not ranks or not set(ranks) <= set(places.addresses):
        known = sorted(places.addresses)
        raise ConfigError(f"KeyValueStore.servers must be some of {known}, got {ranks}")
