"""Parts of a round, where an update that all workers wait for cuts it."""

from dataclasses import replace
from typing import NamedTuple


class RoundPart(NamedTuple):
    """Some minibatches of the blocks of one round.

    Parameters
    ----------
    round, rounds : int
        Which round of the epoch, and how many it has.
    blocks : list of int or None
        Of each worker; None for one without.
    start, stop : int
        Minibatches of each block; a shorter one has less, perhaps none.
    examples : int
        Of all workers.
    ends_round : bool
        Whether nothing of the round is left.
    """

    round: int
    rounds: int
    blocks: list
    start: int
    stop: int
    examples: int
    ends_round: bool

    @property
    def ends_epoch(self):
        return self.ends_round and self.round + 1 == self.rounds

    def minibatches(self, sizes, size):
        """Returns the number of minibatches of `size` records for each worker with a block."""
        block_sizes = [sizes[n] for n in self.blocks if n is not None]
        return [max(0, min(-(-n // size), self.stop) - self.start) for n in block_sizes]

    def after(self, state, iteration):
        """Returns the state with the counters after this part and so many updates."""
        number = 0 if self.ends_epoch else self.round + self.ends_round
        counters = {"epoch": state.epoch + self.ends_epoch, "round": number}
        counters |= {"done": 0 if self.ends_round else self.stop}
        return replace(state, rounds=state.rounds + 1, iteration=iteration, **counters)


def part_of(state, blocks, rounds, sizes, master, marks):
    """Returns the RoundPart that follows `state`.

    Parameters
    ----------
    blocks : list of int or None
        Those of the state's round.
    rounds : int
        That the epoch has in all.
    sizes : sequence of int
        Records of all blocks.
    master : TrainingMaster
    marks : Milestones
    """
    size, counts = master.batch_size_per_worker, [sizes[n] for n in blocks if n is not None]
    longest, updates_left = (
        max(-(-count // size) for count in counts),
        marks.updates_left(state.iteration),
    )
    stop = longest
    if updates_left is not None:
        stop = min(longest, state.done + master.minibatches_for(updates_left, len(blocks)))
    examples = sum(min(n, stop * size) - min(n, state.done * size) for n in counts)
    return RoundPart(state.round, rounds, blocks, state.done, stop, examples, stop == longest)


def locate_update(state, part, sizes, master):
    """Returns the state with the counters that a fit has after as many updates.

    Parameters
    ----------
    state : TrainState
        Of which only updates and vectors are known.
    part : function of a TrainState that gives the next RoundPart
        It must meet at the updates of `state`.
    """
    at = replace(state, epoch=0, round=0, done=0, rounds=0, iteration=0)
    while at.iteration < state.iteration:
        round_part = part(at)
        updates = master.updates_of(round_part.minibatches(sizes, master.batch_size_per_worker))
        at = round_part.after(at, at.iteration + updates)
    return replace(at, iteration=state.iteration)
