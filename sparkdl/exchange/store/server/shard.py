"""State of one server of a store, independent of sockets: keys, counters, workers."""

from contextlib import contextmanager
from threading import Condition

import numpy as np

from sparkdl.errors import ConfigError, PeerError
from sparkdl.exchange.store.server.consistency import rule_of
from sparkdl.exchange.store.server.counters import StoreTally
from sparkdl.exchange.store.server.elastic_barrier import ElasticBarrier
from sparkdl.exchange.store.server.key_part import KeyPart
from sparkdl.exchange.store.server.roster import Roster

KINDS = {"f": "floats", "i": "integers"}


class Shard:
    """The keys of one server. Methods may be called from many threads, one per worker.

    Parameters
    ----------
    options : StoreOptions
    size : int
        Number of workers.
    host : str
        Host of this server, for errors.
    rank : int or None
        Rank of this server; None on the driver.
    """

    def __init__(self, options, size, host="this host", rank=None):
        self.options, self.host, self.rank = options, host, rank
        self.roster = Roster(size, host, options.stall_timeout)
        self.elastic_barrier = ElasticBarrier(self.roster)
        self.tally = StoreTally()
        self.codec = None
        self._rule, self._update, self._with_context = rule_of(options), None, False
        self._parts, self._key_added = {}, Condition()
        self.roster.watch(self._key_added)

    def set_optimizer(self, update, with_context=False):
        """Sets the function that applies gradients; see KeyValueStore.set_optimizer."""
        if not callable(update):
            expected = "a function of key, value, gradient and slots"
            raise ConfigError(f"update must be {expected}, got {update!r}")
        self._update, self._with_context = update, with_context

    def init(self, rank, key, value):
        """Takes over an array as the initial value of a new key."""
        self.roster.check()
        kinds = "f" if self.options.combine == "mean" else "fi"
        if value.dtype.kind not in kinds or value.ndim != 1:
            raise ConfigError(
                f"value of {key!r} must be a vector of {' or '.join(KINDS[k] for k in kinds)}, "
                f"got {value.dtype} of shape {value.shape}"
            )
        with self._key_added:
            if key in self._parts:
                raise ConfigError(f"key {key!r} must be new, but it has a value already")
            self._parts[key] = part = KeyPart(key, value, self.roster.size)
            self.roster.watch(part.changed)
            self._key_added.notify_all()

    def await_key(self, rank, key, dtype, length):
        """Waits until rank 0 has initialized the key; raises ConfigError if its kind differs."""
        with self._key_added:
            self.roster.wait(
                self._key_added, lambda: key in self._parts, lambda: {0}, f"the value of {key!r}"
            )
        value = self._parts[key].value
        if (value.dtype.str, len(value)) != (dtype, length):
            raise ConfigError(
                f"value of {key!r} must be alike on all ranks: rank 0 has {len(value)} of "
                f"{value.dtype.str}, rank {rank} has {length} of {dtype}"
            )

    def push(self, rank, key, gradient, weight=1.0, coded=False):
        """Takes over a gradient, or a codec's message; returns its Outcome.

        It may wait for the previous step to end.
        """
        self.roster.check()
        if self._update is None and self.options.mode != "sync":
            raise ConfigError(f"mode {self.options.mode!r} needs an update; call set_optimizer")
        part, nbytes = self._part(key), gradient.nbytes
        gradient = self._decode(part, gradient) if coded else fitting(part, gradient)
        # Non-finite values are left for the workers to detect.
        with self._failing(), np.errstate(all="ignore"):
            outcome = self._rule.push(part, self.roster, rank, gradient, weight, self._apply)
        self.tally.push(outcome, nbytes)
        return outcome

    def pull(self, rank, key):
        """Returns a PulledValue; waits as the mode requires."""
        self.roster.check()
        pulled = self._rule.pull(self._part(key), self.roster, rank)
        self.tally.pull(pulled.value.nbytes)
        return pulled

    def barrier(self, rank):
        """Waits until all active workers have called this."""
        self.roster.check()
        self.elastic_barrier.come(rank)

    def leave(self, rank):
        """Makes a worker inactive, which ends all waits for it."""
        self.roster.leave(rank)
        for part in self.parts():
            with self._failing(), part.changed:
                self._rule.settle(part, self.roster, self._apply)

    def resume(self, rank):
        """Makes a worker active again, with the progress of the furthest workers."""
        self.roster.resume(rank)
        for part in self.parts():
            with part.changed:
                part.clock[rank] = self._rule.furthest(part)

    def fail(self, error):
        """Ends all waits with this PeerError."""
        self.roster.fail(error)

    def close(self, error):
        """Ends all waits with this PeerError, and releases the optimizer, which may be large.

        Threads that answer workers end a little later, and keep this object until then.
        """
        self.fail(error)
        self._update = None

    def parts(self):
        """Returns the parts held here, sorted by key."""
        with self._key_added:
            return [self._parts[key] for key in sorted(self._parts)]

    def slots(self, key):
        """Returns copies of a key's optimizer state, {name: array}."""
        part = self._part(key)
        with part.changed:
            return {name: np.array(slot) for name, slot in part.slots.items()}

    def set_slots(self, key, slots):
        """Restores a key's optimizer state; takes over the arrays."""
        part = self._part(key)
        with part.changed:
            part.slots = dict(slots)

    def _part(self, key):
        with self._key_added:
            if key not in self._parts:
                known = sorted(self._parts)[:10]
                raise ConfigError(f"key must have a value, got {key!r}; there are {known}")
            return self._parts[key]

    def _decode(self, part, message):
        """Decodes a codec's message into a new array."""
        if self.codec is None:
            raise ConfigError("set_compression must be called on all ranks")
        gradient = np.empty(len(part.value), np.float32)
        self.codec.decode(message, gradient)
        return fitting(part, gradient)

    def _apply(self, part, gradient, circumstances):
        """Updates the value with a gradient."""
        if self.options.combine == "mean":
            if not circumstances.weight:  # no worker had examples
                return
            np.divide(gradient, circumstances.weight, out=gradient)
        if self._update is None:
            part.value[...] = gradient
            return
        about = (circumstances,) * self._with_context
        try:
            self._update(part.key, part.value, gradient, part.slots, *about)
        except Exception as error:
            what = f"the update of {part.key!r} failed: {type(error).__name__}: {error}"
            raise UpdateError(what) from error

    @contextmanager
    def _failing(self):
        """Fails the store for all if an update raises, since the value may be half updated."""
        try:
            yield
        except UpdateError as error:
            failure = PeerError(self.rank, self.host, str(error))
            self.fail(failure)
            raise failure from error


class UpdateError(Exception):
    """The optimizer raised an error."""


def fitting(part, gradient):
    """Returns the gradient if it matches the part's value; else raises ConfigError."""
    if (gradient.dtype, gradient.shape) != (part.value.dtype, part.value.shape):
        raise ConfigError(
            f"a push to {part.key!r} must have {part.value.shape} of {part.value.dtype}, got "
            f"{gradient.shape} of {gradient.dtype}"
        )
    return gradient
