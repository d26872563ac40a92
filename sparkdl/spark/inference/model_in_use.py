"""Models that share the replicas of a process for predictions.

Predictions are lazy: one network may predict, record by record, from another's predictions, and
Spark keeps users' own functions. So callers hold models rather than replicas: one replica serves
all models of a conf that are used in turn, a second one those used while the first is busy, and
each call runs with the weights of its model.
"""

from threading import Lock
from weakref import WeakKeyDictionary, WeakSet

from sparkdl.training.rounds.replica import (
    TRAINED,
    keep_loaded,
    kept_replica,
    second_replica,
)

USERS = WeakKeyDictionary()  # {replica: WeakSet of its ModelInUse objects}
_lock = Lock()


class ModelInUse:
    """A network with its weights, used like a Replica for predictions.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    state : TrainState
        Without slots. Nobody may write to its arrays.
    device, backend : str
        Where to compute; see TrainingMaster.
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
        """The parameters, for transfer to another network."""
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

    def losses(self, batch, output=None):
        """See Replica.losses."""
        return self._ask("losses", (batch, output))

    def losses_by_output(self, batch, outputs):
        """See Replica.losses_by_output."""
        return self._ask("losses_by_output", (batch, outputs))

    def output_mask(self, batch, output=None):
        """See Replica.output_mask."""
        return self._ask("output_mask", (batch, output))

    def _ask(self, method, values, options=None):
        """Returns the result of a replica's method, computed with the weights of this model."""
        if self._replica in TRAINED:  # training began after it was chosen
            self._replica = second_replica(self.conf, *self._place)
        with self._replica.lock:
            keep_loaded(self._replica, self.state)
            return getattr(self._replica, method)(*values, **options or {})


def choose_replica(conf, state, device, backend):
    """Returns the cached replica, or a second one if it is in training or used by other models."""
    first = kept_replica(conf, device, backend)
    is_taken = any(user.state is not state for user in USERS.get(first, ()))
    is_taken = is_taken or first in TRAINED
    return second_replica(conf, device, backend) if is_taken else first
