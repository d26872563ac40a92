"""Updates that all workers of a fit stop at: its end, evaluations, snapshots."""

from dataclasses import dataclass

from sparkdl.config import is_integer
from sparkdl.errors import require


@dataclass(frozen=True, kw_only=True)
class Milestones:
    """Updates at which rounds are cut, counted from the network's first.

    The rest of a cut round is trained in the next one, so nothing is trained twice or left out.
    Asynchronous masters progress unpredictably: they stop at the mark, or some updates after it.

    Parameters
    ----------
    last : int or None
        The update that the fit ends with; None: it ends with an epoch.
    validate : int or None
        Updates between two evaluations; None: evaluate after each epoch.
    first : bool
        Whether to evaluate before the first update, too.
    show : tuple of int
        Listeners receive the state after multiples of any of these.
    """

    last: int | None = None
    validate: int | None = None
    first: bool = False
    show: tuple[int, ...] = ()

    def __post_init__(self):
        for name in ("last", "validate"):
            value = getattr(self, name)
            require(self, name, value is None or is_integer(value, 1), "an integer >= 1 or None")
        require(self, "show", all(is_integer(n, 1) for n in self.show), "integers >= 1")

    def __bool__(self):
        return self != Milestones()

    @property
    def periods(self):
        return (*self.show, *([self.validate] if self.validate else []))

    def updates_left(self, updates):
        """Returns the number of updates up to the next mark, or None if there is none."""
        ways = [n - updates % n for n in self.periods]
        ways += [] if self.last is None else [max(0, self.last - updates)]
        return min(ways, default=None)

    def over(self, updates):
        """Returns whether the fit ends after this many updates."""
        return self.last is not None and updates >= self.last

    def has_mark(self, before, after):
        """Returns whether there is a mark in the updates after `before`, up to `after`."""
        return self.over(after) or any(after // n > before // n for n in self.periods)

    def has_evaluation(self, before, after):
        """Returns whether an evaluation is due, given the states before and after a round."""
        if self.validate is None:
            return after.starts_epoch
        return after.iteration // self.validate > before.iteration // self.validate

    def identity(self):
        """Returns the periods at which rounds are cut; a resumed run must have the same."""
        return sorted(set(self.periods)) or None
