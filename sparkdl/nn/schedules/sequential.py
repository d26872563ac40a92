"""Schedules in sequence."""

from sparkdl.config import Integer, Number, Of, Row, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.errors import require
from sparkdl.nn.schedules.base import Schedule, piece_at, rate_at, starts_grow

PIECE = Row(of=(Integer(minimum=0), Of(family=Schedule, number=Number(above=0))))


@dataclass(frozen=True, kw_only=True)
class SequentialSchedule(Schedule):
    """The last schedule that has started, which counts from its own start.

    optax's join_schedules, PyTorch's SequentialLR; with only numbers, PiecewiseConstantSchedule.
    The schedule after the warm-up of a WarmUpSchedule counts from the beginning instead.
    """

    schedules: Several[tuple[int, float | Schedule]] = option(
        Sequence(of=PIECE, minimum=1),
        "Pairs of the time from which a schedule (or a rate) holds, and the schedule: ((0, "
        "WarmUpSchedule(steps=100, then=0.1)), (100, CosineSchedule(initial=0.1, steps=900))). "
        "Times grow, and the first is 0; the schedules count in the same unit (`per`).",
    )

    def validate(self) -> None:
        super().validate()
        grow = starts_grow(self.schedules)
        require(self, "schedules", grow, "pairs (start, schedule), starts growing from 0")
        same = set().union(*(units_of(one) for _, one in self.schedules)) <= {self.per}
        require(self, "schedules", same, f"pairs (start, schedule) with per={self.per!r}")

    def at(self, t: float) -> float:
        start, chosen = piece_at(self.schedules, t)
        return rate_at(chosen, t - start, t - start)


def units_of(schedule: float | Schedule) -> set[str]:
    """Returns the units in which a schedule and its inner schedules count."""
    if not isinstance(schedule, Schedule):
        return set()
    inner = [
        getattr(schedule, "then", 0.0),
        *(one for _, one in getattr(schedule, "schedules", ())),
    ]
    return {schedule.per}.union(*map(units_of, inner))
