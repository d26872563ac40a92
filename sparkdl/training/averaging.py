"""Parameter averaging: workers train alone for some minibatches, then go on from their mean."""

import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from sparkdl.data.blocks import permutation
from sparkdl.data.dealing import WAYS
from sparkdl.errors import DivergedError, WorkerError, require
from sparkdl.training.report import RoundReport
from sparkdl.training.steps import Round, train_block

# On the weights. The number of workers has one, but here it is only asked for.
WITHOUT_EFFECT = ("prefetch", "storage_level", "workers")


@dataclass(frozen=True, kw_only=True)
class ParameterAveraging:
    """Workers train alone for `averaging_frequency` minibatches, then continue from the mean.

    Parameters, buffers and updater state are averaged by the driver, weighted by examples. With a
    frequency of 1 and plain SGD this is synchronous SGD over the workers' batches together.

    Parameters
    ----------
    batch_size_per_worker : int
        Examples of a minibatch, at least 1.
    averaging_frequency : int
        Minibatches of each worker between two averages, at least 1.
    average_updater_state : bool
        Average momentum and the like too; else they start anew after each average (as DL4J's
        saveUpdater=false).
    aggregation_depth : int
        Levels of the tree that sums over workers; with 1 the driver takes all vectors itself.
    workers : int or None
        None: as many as the cluster runs at once. The result depends on it.
    prefetch : int
        Minibatches made ready ahead; 0 for none.
    repartition : str
        "always": deal records to workers at random; "uneven": only if partitions are small or
        uneven; "never": a worker's block comes from one partition.
    storage_level : str
        Where Spark keeps blocks, a name of pyspark.StorageLevel.
    seed : int or None
        Of the order of records; None: the network's.
    backend : str
        Of the engine; "auto": oneDNN where it is installed, else the reference.

    References
    ----------
    McDonald, Hall and Mann, Distributed training strategies for the structured perceptron (2010).
    DL4J ParameterAveragingTrainingMaster, whose options these are.
    """

    batch_size_per_worker: int = 64
    averaging_frequency: int = 5
    average_updater_state: bool = True
    aggregation_depth: int = 2
    workers: int | None = None
    prefetch: int = 2
    repartition: str = "uneven"
    storage_level: str = "MEMORY_AND_DISK"
    seed: int | None = None
    backend: str = "auto"

    def __post_init__(self):
        for name in ("batch_size_per_worker", "averaging_frequency", "aggregation_depth"):
            require(self, name, whole(getattr(self, name), 1), "an integer >= 1")
        require(self, "prefetch", whole(self.prefetch, 0), "an integer >= 0")
        sound = self.workers is None or whole(self.workers, 1)
        require(self, "workers", sound, "an integer >= 1 or None")
        seed = self.seed is None or (whole(self.seed, 0) and self.seed < 2**63)
        require(self, "seed", seed, "an integer in [0, 2^63) or None")
        kind = isinstance(self.average_updater_state, bool)
        require(self, "average_updater_state", kind, "True or False")
        require(self, "repartition", self.repartition in WAYS, f"one of {WAYS}")
        for name in ("storage_level", "backend"):
            value = getattr(self, name)
            require(self, name, isinstance(value, str) and value != "", "a name")

    @property
    def records_per_block(self):
        """What a worker trains on in a round."""
        return self.batch_size_per_worker * self.averaging_frequency

    def to_dict(self):
        """The options by name, as JSON has them."""
        return asdict(self)

    def identity(self):
        """The options that the weights depend on: a run that is resumed must have the same."""
        return {n: value for n, value in self.to_dict().items() if n not in WITHOUT_EFFECT}

    def rounds_in_epoch(self, workers, blocks):
        """Rounds that an epoch over `blocks` takes."""
        return -(-len(blocks.sizes) // workers.size)

    def epoch(self, workers, conf, blocks, state, transform=None):
        """Train the rest of the state's epoch.

        Yields
        ------
        state, report
            After each round. The last state of an epoch points at the next epoch's round 0.

        Raises
        ------
        DivergedError
            If loss or parameters are no longer finite.
        """
        plan = self.plan(workers, blocks, state)
        for number in range(state.round, len(plan)):
            began = time.perf_counter()
            chosen = plan[number]
            examples = sum(blocks.sizes[i] for i in chosen)
            shared = self._round(conf, state, examples, transform)
            result = workers.sum(train_block, blocks, chosen, shared, self.aggregation_depth)
            came = time.perf_counter()
            check(result, examples, state)
            state = self._next(conf, state, result, number + 1 == len(plan))
            ended = time.perf_counter()
            seconds = shares(result, result.averaging + ended - came, ended - began)
            yield state, report(number, plan, chosen, state, result, seconds)

    def plan(self, workers, blocks, state):
        """[[block of each worker] for each round]: all blocks once, in a new order each epoch."""
        order = permutation(state.seed, state.epoch, n=len(blocks.sizes)).tolist()
        size = workers.size
        return [order[start : start + size] for start in range(0, len(order), size)]

    def _round(self, conf, state, examples, transform):
        return Round(
            conf=conf,
            state=state,
            examples=examples,
            batch_size=self.batch_size_per_worker,
            prefetch=self.prefetch,
            transform=transform,
            keep_slots=self.average_updater_state,
            backend=self.backend,
        )

    def _next(self, conf, state, result, last):
        ends = np.cumsum([len(state.params), len(state.buffers)])
        params, buffers, slots = np.split(result.vector, ends)
        counters = {"rounds": state.rounds + 1, "iteration": state.iteration + result.updates}
        counters |= {"epoch": state.epoch + last, "round": 0 if last else state.round + 1}
        slots = slots if self.average_updater_state else state.slots
        return replace(state, params=params, buffers=buffers, slots=slots, **counters)


def check(result, examples, state):
    """Nothing was lost, and all is finite."""
    if result.examples != examples:
        raise WorkerError(f"round {state.rounds} must train {examples}, got {result.examples}")
    with np.errstate(all="ignore"):
        sums = result.loss, result.vector.sum(dtype=np.float64)
    if not np.isfinite(sums).all():
        mean = result.loss / result.examples
        raise DivergedError(
            f"loss {mean} in epoch {state.epoch}, round {state.round}: training has diverged; "
            "lower the learning rate or clip gradients"
        )


def shares(result, averaging, duration):
    """Seconds of a round by part; what workers and driver do not account for is overhead."""
    known = result.reading + result.compute + averaging
    return {
        "reading": result.reading,
        "compute": result.compute,
        "averaging": averaging,
        "overhead": max(0.0, duration - known),
    }


def report(number, plan, chosen, state, result, seconds):
    return RoundReport(
        epoch=state.epoch - (number + 1 == len(plan)),
        round=number,
        rounds_in_epoch=len(plan),
        iteration=state.iteration,
        examples=result.examples,
        loss=result.loss / result.examples,
        seconds=seconds,
        workers=len(chosen),
    )


def whole(value, least):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
