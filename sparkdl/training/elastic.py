"""Elastic averaging: workers train on their own, tied to a centre by springs."""

from dataclasses import dataclass

from sparkdl.errors import require
from sparkdl.training.elastic_halves import AroundStore, InStep
from sparkdl.training.master import ResidentMaster, require_whole

MODES = ("sync", "async")


@dataclass(frozen=True, kw_only=True)
class ElasticAveraging(ResidentMaster):
    """Each worker has weights of its own; it and a centre draw each other nearer now and then.

    After `tau` minibatches a worker at x moves by d = alpha * (centre - x), and the centre moves by
    the sum of what workers moved, the other way. A worker that trained nothing since then stays
    where it is. The fit's weights are the centre, its updater state is the mean of the workers'.

    The workers' own weights and updater states are part of snapshots and checkpoints. Where the
    number of workers changes worker r goes on with those of worker r, modulo the old number.

    Parameters
    ----------
    tau : int
        Minibatches of each worker between two exchanges. There is one at the end of a round, too.
    alpha : float or None
        The part of its distance to the centre that a worker moves, in (0, 1). None: 0.9 divided by
        the number of workers, as in the paper. Above 1 divided by that number a synchronous centre
        moves past the mean of the workers; above 2 it gets ever further away.
    mode : str
        "sync": all exchange at the same time, by all-reduce (DistLearn's AllReduceEA). "async":
        each exchanges on its own with the centre in a key-value store; nobody waits but at the end
        of a round.
    exchanges_per_round : int
        How many times tau a round has. At its end there is a report, and buffers (running means)
        are averaged.
    options
        Of ResidentMaster.

    References
    ----------
    Zhang, Choromanska and LeCun, Deep learning with elastic averaging SGD (2015): EASGD, and EAMSGD
    where the network's updater is Nesterov. Torch DistLearn AllReduceEA.
    """

    tau: int = 10
    alpha: float | None = None
    mode: str = "sync"
    exchanges_per_round: int = 5

    def __post_init__(self):
        super().__post_init__()
        require_whole(self, "tau")
        require_whole(self, "exchanges_per_round")
        alpha = self.alpha
        sound = alpha is None or (isinstance(alpha, float) and 0 < alpha < 1)
        require(self, "alpha", sound, "in (0, 1) or None")
        require(self, "mode", self.mode in MODES, f"one of {MODES}")

    @property
    def minibatches_per_round(self):
        return self.tau * self.exchanges_per_round

    def strategy(self, worker):
        return (InStep if self.mode == "sync" else AroundStore)(self, worker)
