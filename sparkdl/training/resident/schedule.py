"""Schedule of blocks: the worker and the round that trains each."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import zip_longest

from sparkdl.data.batches.blocks import permutation
from sparkdl.training.rounds.round_part import part_of

BEGUN = "begun"  # key of the started epoch in a checkpoint's extra
DEALING = -1  # in a permutation's key, in place of the number of an epoch or block


@dataclass(frozen=True, kw_only=True)
class StartedEpoch:
    """An epoch begun by a different number of workers.

    Parameters
    ----------
    epoch, rounds : int
        Number of the epoch, and of its rounds done.
    left : tuple of int
        The blocks not yet trained in it.
    """

    epoch: int
    rounds: int
    left: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class BlockSchedule:
    """Assignment of blocks to workers, which each process derives from the seed by itself.

    Workers keep their blocks for the whole fit. Their numbers of blocks differ by at most one; each
    worker trains its blocks in a new order in each epoch.

    Parameters
    ----------
    sizes : tuple of int
        Records of each block.
    workers, seed : int
    started_epoch : StartedEpoch or None
        The rest of this epoch is distributed evenly as well.
    """

    sizes: tuple[int, ...]
    workers: int
    seed: int
    started_epoch: StartedEpoch | None = None

    @cached_property
    def shares(self):
        """The blocks of each worker."""
        order = permutation(self.seed, DEALING, n=len(self.sizes)).tolist()
        if self.started_epoch:
            remaining = set(self.started_epoch.left)
            order.sort(key=lambda number: number not in remaining)
        return [order[rank :: self.workers] for rank in range(self.workers)]

    def rounds(self, epoch):
        """Returns the rounds of an epoch: [[block of each worker, None for one without]]."""
        return _rounds(self, epoch)

    def first_round(self, epoch):
        """Returns the number of the first of the epoch's `rounds`."""
        return self.started_epoch.rounds if self._has_begun(epoch) else 0

    def last_round(self, epoch):
        """Returns the number of rounds that the epoch has at its end."""
        return self.first_round(epoch) + len(self.rounds(epoch))

    def todo(self, state):
        """Returns (number, blocks) of each remaining round of the state's epoch."""
        first = self.first_round(state.epoch)
        return list(enumerate(self.rounds(state.epoch), first))[state.round - first :]

    def part(self, state, master, marks):
        """Returns the next RoundPart."""
        blocks = self.rounds(state.epoch)[state.round - self.first_round(state.epoch)]
        return part_of(state, blocks, self.last_round(state.epoch), self.sizes, master, marks)

    def resize(self, workers, state):
        """Returns the schedule for another number of workers, which continue from the state.

        A round that was cut starts over.
        """
        if workers == self.workers:
            return self
        left = sorted(n for _, blocks in self.todo(state) for n in blocks if n is not None)
        started = StartedEpoch(epoch=state.epoch, rounds=state.round, left=tuple(left))
        return replace(self, workers=workers, started_epoch=started if state.round else None)

    def _has_begun(self, epoch):
        return self.started_epoch is not None and self.started_epoch.epoch == epoch

    def _order(self, rank, epoch):
        share = self.shares[rank]
        order = permutation(self.seed, epoch, DEALING, rank, n=len(share))
        blocks = [share[i] for i in order]
        if not self._has_begun(epoch):
            return blocks
        return [n for n in blocks if n in self.started_epoch.left]


def schedule_of(blocks, workers, state, extra):
    """Returns the BlockSchedule of a fit, possibly resumed from a checkpoint with this `extra`."""
    saved = extra.get(BEGUN)
    started = saved and StartedEpoch(**saved | {"left": tuple(saved["left"])})
    options = {"workers": workers.size, "seed": state.seed, "started_epoch": started}
    return BlockSchedule(sizes=tuple(blocks.sizes), **options)


def write_schedule(schedule, extra):
    """Records the current workers, and the epoch they started in, in a checkpoint's extra."""
    extra["workers"] = schedule.workers
    extra[BEGUN] = schedule.started_epoch and asdict(schedule.started_epoch)


@lru_cache(maxsize=2)
def _rounds(schedule, epoch):
    orders = [schedule._order(rank, epoch) for rank in range(schedule.workers)]
    return [list(blocks) for blocks in zip_longest(*orders)]
