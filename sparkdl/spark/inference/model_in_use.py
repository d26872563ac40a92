"""A model that predicts in a process where others of the same conf may do so by turns.

Predictions are lazy: a network may predict from what another predicts, record by record, and
functions of users' own are kept by Spark. So what is held is a model, not a replica: one replica
computes for all models of a conf that come one after the other, a second one for those that come
while the first is in use, and each has the weights of the model that asks.
"""

from threading import Lock
from weakref import WeakKeyDictionary, WeakSet

from sparkdl.training.rounds.replica import (
    TRAINED,
    keep_loaded,
    kept_replica,
    second_replica,
)

USERS = WeakKeyDictionary()  # {replica: the ModelInUse that there are of it}
_lock = Lock()


class ModelInUse:
    """A network with its weights, as a Replica in use.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    state : TrainState
        Without slots. None may write to its arrays.
    device, backend : str
        Where it is computed; see TrainingMaster.
    """

    def __init__(self, conf, state, device="auto", backend="auto"):
        self.conf, self.state, self._place = conf, state, (device, backend)
        with _lock:
            self._replica = choose_replica(conf, state, device, backend)
            USERS.setdefault(self._replica, WeakSet()).add(self)
        with self._replica.lock:
            keep_loaded(self._replica, state)

    @property
    def params(self):
        """The parameters, as those who carry them into another network read them."""
        return self.state.params

    @property
    def buffers(self):
        """The buffers, likewise."""
        return self.state.buffers

    @property
    def backend(self):
        """See Replica.backend."""
        return self._replica.backend

    def forward(self, *values, **options):
        """See Replica.forward."""
        return self._ask("forward", values, options)

    def losses(self, batch):
        """See Replica.losses."""
        return self._ask("losses", (batch,))

    def output_mask(self, batch):
        """See Replica.output_mask."""
        return self._ask("output_mask", (batch,))

    def _ask(self, method, values, options=None):
        """Returns what a method of the replica gives with the weights of this model."""
        if self._replica in TRAINED:  # since it was chosen
            self._replica = second_replica(self.conf, *self._place)
        with self._replica.lock:
            keep_loaded(self._replica, self.state)
            return getattr(self._replica, method)(*values, **options or {})


def choose_replica(conf, state, device, backend):
    """Returns the replica that is kept, or a second one where that trains, or others hold it."""
    first = kept_replica(conf, device, backend)
    is_taken = any(user.state is not state for user in USERS.get(first, ()))
    is_taken = is_taken or first in TRAINED
    return second_replica(conf, device, backend) if is_taken else first
