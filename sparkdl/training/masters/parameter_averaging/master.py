"""Parameter averaging: workers train alone for a while, then continue from their mean weights."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from sparkdl.config import Boolean, Choice, Integer, dataclass, option
from sparkdl.data.batches.blocks import permutation
from sparkdl.errors import DivergedError, WorkerError, require
from sparkdl.nn import initial_slots
from sparkdl.nn.optimization.parameter_options import fixed_parts
from sparkdl.training.masters.base import ResidentMaster, TrainingMaster
from sparkdl.training.masters.parameter_averaging.worker import ParameterAveragingWorker
from sparkdl.training.reporting.reports import RoundReport
from sparkdl.training.resident.buffer_mean import Infinities
from sparkdl.training.rounds.block_training import Round, train_block
from sparkdl.training.rounds.milestones import Milestones
from sparkdl.training.rounds.round_part import part_of

AGGREGATIONS = ("auto", "peers", "driver")
KEEP_SLOTS = "give average_optimizer_state=True, as the average is part of the optimizer's state"


@dataclass(frozen=True, kw_only=True)
class ParameterAveraging(ResidentMaster):
    """Parameter averaging: workers train alone for some minibatches, then continue from their mean.

    Parameters, buffers and optimizer state are averaged, weighted by examples. With an averaging
    frequency of 1 and plain SGD this is synchronous SGD on the joint minibatch.

    References
    ----------
    McDonald, Hall and Mann, Distributed training strategies for the structured perceptron (2010).
    DL4J ParameterAveragingTrainingMaster, whose options these are.
    """

    averaging_frequency: int = option(
        Integer(minimum=1), "Minibatches of each worker between two averages.", default=5
    )
    average_optimizer_state: bool = option(
        Boolean(),
        "Whether to average optimizer state (momentum ...) too; otherwise it is reset at each "
        "average (as DL4J's saveUpdater=false).",
        default=True,
    )
    aggregation: str = option(
        Choice(of=AGGREGATIONS),
        '"peers": workers stay for the whole fit, one on each GPU, and average among themselves, '
        'which is much faster. "driver": each round is an ordinary Spark job, whose lost tasks '
        'are recomputed; a task with several GPUs uses only the first. "auto": peers if workers '
        "can stay and reach each other, else the driver; the History says which and why. With "
        "tls or integrity it is never the driver. The two assign blocks to workers in different "
        "orders, so name one if weights must be the same on another cluster.",
        default="auto",
    )
    aggregation_depth: int = option(
        Integer(minimum=1),
        'With "driver": depth of the aggregation tree; with 1 the driver receives all vectors '
        "itself.",
        default=2,
    )

    def validate(self) -> None:
        super().validate()
        plain = self.codec is None or self.aggregation == "peers"
        require(self, "codec", plain, "None", "aggregation='peers' supports one")
        if self.aggregation == "driver":
            self._check_unsecured("aggregation='peers' supports it")

    def _check_unsecured(self, cure):
        """Raises ConfigError if tls or integrity is set, which rounds of the driver lack."""
        cure = f"{cure}; Spark sends what the driver averages: set spark.network.crypto.enabled"
        require(self, "tls", self.tls is None, "None where the driver averages", cure)
        require(self, "integrity", not self.integrity, "False where the driver averages", cure)

    def resolve(
        self, workers: Any, extra: dict[str, Any]
    ) -> tuple[TrainingMaster, str | None, TrainingMaster | None]:
        if self.aggregation != "auto":
            return self, None, None
        before = extra.get("aggregation", "auto")
        obstacle = workers.obstacle()
        if before != "auto":
            way, why = before, "as the checkpoint has it"
        elif obstacle is not None:
            way, why = "driver", obstacle
        else:
            way, why = "peers", f"all {workers.size} workers run at once"
        text = f"averaged by {'the driver' if way == 'driver' else 'peers'}: {why}"
        if way == "driver":
            self._check_unsecured(f"here it does: {why}")
            return replace(self, aggregation="driver"), text, None
        is_replaceable = not (extra or self.tls or self.integrity)
        driver = replace(self, aggregation="driver") if is_replaceable else None
        return replace(self, aggregation="peers"), text, driver

    @property
    def resident(self) -> bool:  # type: ignore[override]
        return self.aggregation == "peers"

    @property
    def ema_cure(self) -> str:
        return "" if self.average_optimizer_state else KEEP_SLOTS

    @property
    def minibatches_per_round(self) -> int:
        return self.averaging_frequency

    def strategy(self, worker: Any) -> Any:
        return ParameterAveragingWorker(self, worker)

    def epoch(
        self,
        workers: Any,
        conf: Any,
        blocks: Any,
        state: Any,
        transform: Any = None,
        marks: Any = Milestones(),  # noqa: B008
    ) -> Iterator[Any]:
        """Trains the rest of the state's epoch, or up to the last mark.

        Yields
        ------
        state, report
            After each round. The last state of an epoch points at the next epoch's round 0.

        Raises
        ------
        ConfigError
            If vectors of this size cannot be sent to the driver.
        DivergedError
            If loss or parameters are no longer finite.
        """
        epoch = state.epoch
        workers.check_result(self._bytes_of_sum(state), self.aggregation_depth)
        while state.epoch == epoch and not marks.over(state.iteration):
            round_start = time.perf_counter()
            part = self.part(workers, blocks, state, marks)
            start = part.start * self.batch_size_per_worker
            chosen = [number for number in part.blocks if blocks.sizes[number] > start]
            shared = self._round(conf, state, part, transform)
            result = workers.run_round(train_block, blocks, chosen, shared, self.aggregation_depth)
            training_end = time.perf_counter()
            check_examples(result, part.examples, state)
            after = self._next(conf, state, result, part)
            check_finite(conf, result, after, state)
            state = after
            round_end = time.perf_counter()
            averaging = result.averaging + round_end - training_end
            seconds = time_shares(result, averaging, round_end - round_start)
            yield state, round_report(epoch, part, chosen, state, result, seconds)

    def plan(self, workers: Any, blocks: Any, state: Any) -> Any:
        """Returns [[block of each worker] for each round]: each block once, in epoch order."""
        return plan_rounds(state.seed, state.epoch, len(blocks.sizes), workers.size)

    def part(self, workers: Any, blocks: Any, state: Any, marks: Any) -> Any:
        """Returns the next RoundPart when the driver averages."""
        plan = self.plan(workers, blocks, state)
        return part_of(state, plan[state.round], len(plan), blocks.sizes, self, marks)

    def _round(self, conf, state, part, transform):
        return Round(
            conf=conf,
            state=state,
            examples=part.examples,
            start=part.start,
            stop=part.stop,
            batch_size=self.batch_size_per_worker,
            prefetch=self.prefetch,
            transform=transform,
            keep_slots=self.average_optimizer_state,
            device=self.device,
            backend=self.backend,
        )

    def _bytes_of_sum(self, state):
        """Returns the bytes of the vectors that the driver averages."""
        vectors = [state.params, state.buffers] + [state.slots] * self.average_optimizer_state
        return sum(vector.nbytes for vector in vectors)

    def _next(self, conf, state, result, part):
        ends = np.cumsum([len(state.params), len(state.buffers)])
        params, buffers, slots = np.split(result.vector, ends)
        for fixed in fixed_parts(conf):  # the mean of equal numbers may be rounded
            params[fixed] = state.params[fixed]
        changed = np.unpackbits(result.changed, count=len(buffers)) > 0
        np.copyto(buffers, state.buffers, where=~changed)
        slots = slots if self.average_optimizer_state else initial_slots(conf)
        state = part.after(state, state.iteration + result.updates)
        return replace(state, params=params, buffers=buffers, slots=slots, master_state={})


@lru_cache(maxsize=2)
def plan_rounds(seed, epoch, blocks, size):
    order = permutation(seed, epoch, n=blocks).tolist()
    return [order[start : start + size] for start in range(0, len(order), size)]


def check_examples(result, examples, state):
    """Raises WorkerError unless the round has trained all of its examples."""
    if result.examples != examples:
        raise WorkerError(f"round {state.rounds} must train {examples}, got {result.examples}")


def check_finite(conf, result, after, state):
    """Raises DivergedError if a number is not finite, other than infinite constant buffers."""
    with np.errstate(all="ignore"):
        sums = [vector.sum(dtype=np.float64) for vector in (after.params, after.slots)]
    is_finite = np.isfinite([result.loss, *sums]).all()
    if not (is_finite and Infinities(conf, state.buffers).are_all_in(after.buffers)):
        mean = result.loss / result.examples
        raise DivergedError(
            f"loss {mean} in epoch {state.epoch}, round {state.round}: training has diverged; "
            "lower the learning rate or clip gradients"
        )


def time_shares(result, averaging, duration):
    """Returns the seconds of a round by activity.

    Time that neither workers nor the driver account for is overhead.
    """
    known = result.reading + result.compute + averaging
    return {
        "reading": result.reading,
        "compute": result.compute,
        "averaging": averaging,
        "overhead": max(0.0, duration - known),
    }


def round_report(epoch, part, chosen, state, result, seconds):
    return RoundReport(
        epoch=epoch,
        round=part.round,
        rounds_in_epoch=part.rounds,
        iteration=state.iteration,
        examples=result.examples,
        loss=result.loss / result.examples,
        seconds=seconds,
        workers=len(chosen),
        skipped=result.skipped,
        devices=result.devices,
        rate_factor=state.rate_factor,
        by_worker=tuple(result.workers),
    )
