"""Options of a key-value store, the same in all its processes."""

from dataclasses import asdict, dataclass

from sparkdl.errors import require

MODES = ("sync", "bounded", "async", "hogwild")
COMBINATIONS = ("sum", "mean")


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Options of a key-value store: how it combines the pushes of its workers.

    Parameters
    ----------
    mode : str
        "sync": a value changes once per step, by all workers' pushes together. "async": by each
        push at once. "bounded": likewise, but nobody gets ahead of the slowest by more than
        `staleness` pushes. "hogwild": as "async", without a lock.
    staleness : int
        Of "bounded": a worker that has pushed c times pulls only once all others have pushed at
        least c - staleness times.
    backup : int
        Of "sync": a step waits for all workers but so many. Who comes later is dropped and counted.
    combine : str
        "sum": what is pushed is added up. "mean": the sum is divided by the sum of the weights.
    big : int
        Arrays of more numbers are split over all servers.
    timeout : float
        Seconds of silence after which a process counts as dead.
    patience : float
        Seconds to wait for the pushes of others, as long as they are alive.

    References
    ----------
    Li et al., Scaling distributed machine learning with the parameter server (2014).
    Chen et al., Revisiting distributed synchronous SGD (2016), for backup workers.
    Ho et al., More effective distributed ML via a stale synchronous parallel parameter server
    (2013). Niu et al., Hogwild (2011).
    """

    mode: str = "sync"
    staleness: int = 0
    backup: int = 0
    combine: str = "sum"
    big: int = 1_000_000
    timeout: float = 60.0
    patience: float = 600.0

    def __post_init__(self):
        require(self, "mode", self.mode in MODES, f"one of {MODES}")
        require(self, "combine", self.combine in COMBINATIONS, f"one of {COMBINATIONS}")
        for name, least, mode in (("staleness", 0, "bounded"), ("backup", 0, "sync")):
            value = getattr(self, name)
            require(self, name, is_whole(value, least), f"an integer >= {least}")
            holds = value == 0 or self.mode == mode
            require(self, name, holds, f"0 in mode {self.mode!r}", f"it belongs to {mode!r}")
        require(self, "big", is_whole(self.big, 1), "an integer >= 1")
        for name in ("timeout", "patience"):
            seconds = getattr(self, name)
            sound = isinstance(seconds, int | float) and seconds > 0
            require(self, name, sound, "a number of seconds > 0")

    def to_dict(self):
        """Returns the options by name, as JSON has them."""
        return asdict(self)


def is_whole(value, least):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
