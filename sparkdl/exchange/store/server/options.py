"""Options of a key-value store, the same in all its processes."""

from typing import ClassVar

from sparkdl.config import Choice, Config, Integer, Number, dataclass, option
from sparkdl.errors import require

MODES = ("sync", "bounded", "async", "hogwild")
COMBINATIONS = ("sum", "mean")


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Config):
    """Options of a key-value store: how it combines the pushes of its workers.

    References
    ----------
    Li et al., Scaling distributed machine learning with the parameter server (2014).
    Chen et al., Revisiting distributed synchronous SGD (2016), for backup workers.
    Ho et al., More effective distributed ML via a stale synchronous parallel parameter server
    (2013). Niu et al., Hogwild (2011).
    """

    complete: ClassVar = True

    mode: str = option(
        Choice(of=MODES),
        '"sync": a value changes once per step, by all workers\' pushes together. "async": by '
        'each push at once. "bounded": likewise, but who is ahead of the slowest by more than '
        '`staleness` pushes waits when it pulls. "hogwild": as "async", without a lock.',
        default="sync",
    )
    staleness: int = option(
        Integer(minimum=0),
        'Of "bounded": a worker that has pushed c times pulls only once all others have pushed '
        "at least c - staleness times.",
        default=0,
    )
    backup: int = option(
        Integer(minimum=0),
        'Of "sync": a step waits for all workers but so many. Who comes later is dropped and '
        "counted.",
        default=0,
    )
    combine: str = option(
        Choice(of=COMBINATIONS),
        '"sum": what is pushed is added up. "mean": the sum is divided by the sum of the weights.',
        default="sum",
    )
    big: int = option(
        Integer(minimum=1), "Arrays of more numbers are split over all servers.", default=1_000_000
    )
    timeout: float = option(
        Number(above=0),
        "Silence after which a process counts as dead.",
        default=60.0,
        unit="seconds",
    )
    stall_timeout: float = option(
        Number(above=0),
        "Wait for the pushes of others, as long as they are alive.",
        default=600.0,
        unit="seconds",
    )

    def validate(self):
        super().validate()
        require_modes(self)


def require_modes(config):
    """Raises ConfigError if `staleness` or `backup` is set in a mode that has none."""
    for name, mode in (("staleness", "bounded"), ("backup", "sync")):
        holds = getattr(config, name) == 0 or config.mode == mode
        require(config, name, holds, f"0 in mode {config.mode!r}", f"it belongs to {mode!r}")
