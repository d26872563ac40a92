"""Two-level store: pushes are summed within a machine before they go to the servers."""

import json

import numpy as np

from sparkdl.error_messages import error_to_json
from sparkdl.exchange.store.client.reply import check_reply
from sparkdl.exchange.store.derived_verbs import Verbs
from sparkdl.exchange.store.server.key_part import Outcome
from sparkdl.exchange.store.server.places import Places
from sparkdl.exchange.store.store import KeyValueStore


class TwoLevelStore(Verbs):
    """A KeyValueStore whose workers are machines.

    The processes of a machine make all calls together. The first of them, the leader, pushes the
    sum of their arrays, and distributes what it pulls. All of them raise the leader's errors.

    Parameters
    ----------
    group : Group
        All processes; each of them creates the store.
    machine : object
        Any JSON value, the same for all processes of a machine.
    secret : bytes
        Secret of the job.
    endpoint : dict, optional
        Options of the leader's Endpoint.
    options
        As KeyValueStore takes them.

    References
    ----------
    MXNet's dist_sync sums over the devices of a machine in the same way.
    """

    def __init__(self, group, machine, secret, *, endpoint=None, **options):
        self.local = group.split(machine)
        leaders = group.split(self.local.rank == 0)
        self._store = None
        self._run_on_leader(lambda: self._lead(leaders, secret, endpoint or {}, options))

    def init(self, key, value, at=None):
        """As KeyValueStore.init; the value is that of the first process of all."""
        self._run_on_leader(lambda: self._store.init(key, value, at))

    def push(self, key, value, weight=1.0):
        """As KeyValueStore.push, with the machine's sums of values and weights."""
        several = isinstance(key, list | tuple)
        sums = [np.array(array) for array in (value if several else [value])]
        weights = np.array([weight], np.float64)
        for array in (*sums, weights):
            self.local.all_reduce(array)
        outcome = self._run_on_leader(
            lambda: self._store.push(key, sums if several else sums[0], float(weights[0]))
        )
        return [Outcome(*one) for one in outcome] if several else Outcome(*outcome)

    def pull(self, key, out):
        """As KeyValueStore.pull."""
        version = self._run_on_leader(lambda: self._store.pull(key, out))
        for array in out if isinstance(key, list | tuple) else [out]:
            self.local.broadcast(array)
        return version

    def barrier(self):
        """Waits until all active machines have called this."""
        self._run_on_leader(lambda: self._store.barrier())

    def set_optimizer(self, update, with_context=False):
        """As KeyValueStore.set_optimizer."""
        self._run_on_leader(lambda: self._store.set_optimizer(update, with_context))

    def set_compression(self, codec):
        """As KeyValueStore.set_compression; nothing is encoded within a machine."""
        self._run_on_leader(lambda: self._store.set_compression(codec))

    def save_optimizer_states(self, path):
        """As KeyValueStore.save_optimizer_states."""
        self._run_on_leader(lambda: self._store.save_optimizer_states(path))

    def load_optimizer_states(self, path):
        """As KeyValueStore.load_optimizer_states."""
        self._run_on_leader(lambda: self._store.load_optimizer_states(path))

    def statistics(self):
        """As KeyValueStore.statistics, for the traffic between machines."""
        counts = self._run_on_leader(lambda: self._store.statistics())
        return counts | {"staleness": {int(n): c for n, c in counts["staleness"].items()}}

    def leave(self):
        """Ends this machine's part: others no longer wait for it."""
        self._run_on_leader(lambda: self._store.leave())

    def close(self):
        """Leaves, and waits until the keys held here are no longer needed."""
        self._run_on_leader(lambda: self._store.close())

    def break_off(self, kind, error):
        """Closes after an exception in this process; the others get a PeerError that names it."""
        if self._store is not None:
            self._store.break_off(kind, error)

    def _lead(self, leaders, secret, endpoint, options):
        self._store = KeyValueStore(Places.of(leaders, secret, **endpoint), **options)

    def _run_on_leader(self, act):
        """Runs act() on the leader; returns its JSON result, or raises its error, on all ranks."""
        text = b"" if self.local.rank else json.dumps(attempt(act)).encode()
        result = json.loads(bytes(self.local.all_gather_bytes(text)[0]))
        return check_reply(result, "the leader of this machine")["result"]


def attempt(act):
    try:
        return {"result": act()}
    except Exception as error:
        return error_to_json(error)
