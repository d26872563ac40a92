"""Parts of a round that is cut at an update which all workers wait for."""

from dataclasses import replace
from typing import NamedTuple

from sparkdl.errors import ConfigError

WALKED = 10_000  # updates up to which parts are counted one by one
LONGEST_WALK = 1_000_000  # rounds; about 200,000 are counted per second


class RoundPart(NamedTuple):
    """A range of minibatches of the blocks of one round.

    Parameters
    ----------
    round, rounds : int
        Number of the round in the epoch, and the epoch's number of rounds.
    blocks : list of int or None
        Of each worker; None for one without.
    start, stop : int
        Range of minibatches in each block; a shorter block has fewer, perhaps none.
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
        """Returns the state with the counters after this part, at this iteration."""
        number = 0 if self.ends_epoch else self.round + self.ends_round
        counters = {"epoch": state.epoch + self.ends_epoch, "round": number}
        counters |= {"done": 0 if self.ends_round else self.stop}
        return replace(state, rounds=state.rounds + 1, iteration=iteration, **counters)


def part_of(state, blocks, rounds, sizes, master, marks):
    """Returns the RoundPart that follows `state`.

    Parameters
    ----------
    blocks : list of int or None
        Of the state's round.
    rounds : int
        Number of rounds in the epoch.
    sizes : sequence of int
        Records of all blocks.
    master : TrainingMaster
    marks : Milestones
    """
    size, counts = master.batch_size_per_worker, [sizes[n] for n in blocks if n is not None]
    updates_left = marks.updates_left(state.iteration)
    stop = longest = max(-(-count // size) for count in counts)
    if updates_left is not None:
        stop = min(longest, state.done + master.minibatches_for(updates_left, len(blocks)))
    examples = sum(min(n, stop * size) - min(n, state.done * size) for n in counts)
    return RoundPart(state.round, rounds, blocks, state.done, stop, examples, stop == longest)


def locate_update(state, plan, sizes, master, marks):
    """Returns the state with the counters that a fit has after the same number of updates.

    If there are many epochs, whole ones are counted at once. Then `rounds` counts each mark in them
    as the end of a part, even if a round ends there anyway.

    Parameters
    ----------
    state : TrainState
        Only its updates and vectors are known.
    plan : function of an epoch
        Gives the rounds: lists of the blocks of each worker, None for one without.
    sizes : sequence of int
        Records of all blocks.
    master : TrainingMaster
    marks : Milestones
        The last one is at the updates of `state`.

    Raises
    ------
    ConfigError
        If there are too many updates to count, in epochs that differ.
    """
    at = replace(state, epoch=0, round=0, done=0, rounds=0, iteration=0)
    if state.iteration > WALKED:
        at = skip_epochs(at, state.iteration, EpochUpdates(plan, sizes, master), marks)
    while at.iteration < state.iteration:
        rounds = plan(at.epoch)
        part = part_of(at, rounds[at.round], len(rounds), sizes, master, marks)
        updates = master.updates_of(part.minibatches(sizes, master.batch_size_per_worker))
        at = part.after(at, at.iteration + updates)
    return replace(at, iteration=state.iteration)


def skip_epochs(at, target, updates, marks):
    """Returns the state at the beginning of the epoch that contains the update `target`.

    Parameters
    ----------
    at : TrainState
        At the beginning of the first epoch.
    updates : EpochUpdates
    """
    each = updates.of(0)
    if updates.are_equal():
        epoch = target // each
        done = epoch * each
    else:
        check_walk(target, target // each * updates.rounds)
        epoch, done = 0, 0
        while done + (more := updates.of(epoch)) <= target:
            epoch, done = epoch + 1, done + more
    cuts = sum(done // period for period in set(marks.periods))
    return replace(at, epoch=epoch, rounds=epoch * updates.rounds + cuts, iteration=done)


def check_walk(target, rounds):
    """Raises ConfigError if too many rounds would have to be counted one by one."""
    if rounds > LONGEST_WALK:
        raise ConfigError(
            f"TrainState.iteration must be an update of the first {LONGEST_WALK} rounds, where "
            f"epochs differ in their updates, got {target} in about {rounds} rounds; set it to 0, "
            "or train with one worker"
        )


class EpochUpdates:
    """Number of updates of whole epochs, wherever marks cut them.

    See `locate_update` for the parameters.
    """

    def __init__(self, plan, sizes, master):
        size = master.batch_size_per_worker
        self.plan, self.master = plan, master
        self.minibatches = [-(-count // size) for count in sizes]
        self.rounds = len(plan(0))

    def are_equal(self):
        """Returns whether all epochs have the same number, whatever the order of their blocks."""
        alike = len(set(self.minibatches)) == 1
        alone = max(map(len, self.plan(0))) == 1
        return alike or alone or self.rounds == 1

    def of(self, epoch):
        """Returns the updates of an epoch."""
        return sum(map(self._of_round, self.plan(epoch)))

    def _of_round(self, blocks):
        return self.master.updates_of([self.minibatches[n] for n in blocks if n is not None])
