"""A rate that is constant in each of several intervals."""

from sparkdl.config import Integer, Number, Row, Sequence, dataclass, option
from sparkdl.config.field_types import Several
from sparkdl.errors import require
from sparkdl.nn.schedules.base import Schedule, piece_at, starts_grow

PIECE = Row(of=(Integer(minimum=0), Number(above=0)))


@dataclass(frozen=True, kw_only=True)
class PiecewiseConstantSchedule(Schedule):
    """The rate of the last pair (start, rate) whose start is <= t. DL4J's MapSchedule."""

    rates: Several[tuple[int, float]] = option(
        Sequence(of=PIECE, minimum=1),
        "Pairs of the time from which a rate holds, and the rate: ((0, 0.1), (1000, 0.01)). "
        "Times grow, and the first is 0.",
    )

    def validate(self) -> None:
        super().validate()
        grow = starts_grow(self.rates)
        require(self, "rates", grow, "pairs (start, rate above 0), starts growing from 0")

    def at(self, t: float) -> float:
        return piece_at(self.rates, t)[1]
