"""Wall-clock seconds of a fit by phase; each moment belongs to exactly one phase."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from sparkdl.training.reporting.listeners import Listener

PHASES = {
    "starting": "Spark's jobs and the plan of the data: give the executors more cores, or fit "
    "again in this session, which finds them warm",
    "python": "starting Python on the executors: fit again in this session, which finds it running",
    "reading": "reading records: store them as Parquet or LMDB, in more partitions, or raise "
    "prefetch",
    "balance": "dealing records to workers: more even partitions and repartition='never' save that",
    "launching": "launching workers: longer fits pay for it",
    "compute": "computing, as it should: more workers or a GPU make it shorter",
    "averaging": "exchanging: a higher averaging_frequency, aggregation='peers' or a codec make it "
    "less",
    "overhead": "rounds around their computing: aggregation='peers' or a higher "
    "averaging_frequency make it less",
    "evaluation": "evaluation: evaluate on fewer records, or more rarely by validate_every",
    "checkpoints": "writing checkpoints: write them more rarely",
    "listeners": "listeners: have them do less, or more rarely",
    "ending": "ending the workers",
}
"""The phases in chronological order, with the advice given if one takes the most time."""


class Phases:
    """A clock that assigns each second to one phase, so that all add up to the time of the fit.

    Parameters
    ----------
    clock : function () -> float
        Gives seconds.

    Attributes
    ----------
    seconds : {phase: float}
        Up to the last call.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._last = clock, clock()
        self.seconds = dict.fromkeys(PHASES, 0.0)

    def end(self, phase: str, known: Mapping[str, float] | None = None) -> None:
        """Adds the time since the last call to a phase.

        Parameters
        ----------
        phase : str
        known : {phase: seconds}, optional
            Time of other phases since the last call, not counted for `phase`. If it exceeds the
            elapsed time, as when workers were ahead of this process, it is scaled down to it.
        """
        now = self._clock()
        elapsed, known = now - self._last, known or {}
        self._last, total = now, sum(known.values())
        scale = min(1.0, elapsed / total) if total > 0 else 0.0
        for name, seconds in known.items():
            self.seconds[name] += scale * seconds
        self.seconds[phase] += max(0.0, elapsed - scale * total)


class PhaseEnd(Listener):
    """Ends a phase; follows the listener whose time is measured."""

    def __init__(self, phases: Phases, phase: str) -> None:
        self._phases, self._phase = phases, phase

    def on_fit_start(self, plan: Any) -> None:
        self._phases.end(self._phase)

    def on_round(self, report: Any, state: Any) -> None:
        self._phases.end(self._phase)

    def on_validation(self, report: Any, state: Any) -> None:
        self._phases.end(self._phase)

    def on_epoch(self, report: Any, state: Any) -> None:
        self._phases.end(self._phase)

    def on_restart(self, restart: Any) -> None:
        self._phases.end(self._phase)

    def on_fit_end(self, history: Any) -> None:
        self._phases.end(self._phase)


def phase_rows(seconds: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Returns (phase, seconds, share) of phases that took time, in chronological order."""
    wall = sum(seconds.values())
    found = [(phase, seconds.get(phase, 0.0)) for phase in PHASES]
    return [(phase, took, took / wall) for phase, took in found if took > 0]


def advice(seconds: Mapping[str, float]) -> str:
    """Returns a sentence on the longest phase, or "" without any."""
    wall = sum(seconds.values())
    if wall <= 0:
        return ""
    phase = max(seconds, key=seconds.__getitem__)
    return f"{100 * seconds[phase] / wall:.0f} % of {wall:.1f} s went into {PHASES[phase]}."
