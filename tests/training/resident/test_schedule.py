"""The schedule trains all blocks once per epoch, evenly, with any number of workers."""

from collections import Counter
from dataclasses import replace

import pytest

from sparkdl.training.network import first_state
from sparkdl.training.resident.schedule import BlockSchedule, schedule_of, write_schedule
from tests.training.problems import softmax_net

SIZES = [(5, 2), (6, 3), (1, 4), (17, 1), (23, 4), (4, 4)]


def schedule(count, workers, **options):
    sizes = tuple(range(1, count + 1))
    return BlockSchedule(**{"sizes": sizes, "workers": workers, "seed": 3} | options)


def at(**counters):
    return replace(first_state(softmax_net()), **counters)


def trained(rounds):
    return [number for blocks in rounds for number in blocks if number is not None]


@pytest.mark.parametrize("count, workers", SIZES)
def test_workers_have_all_blocks_and_as_many_as_others(count, workers):
    shares = schedule(count, workers).shares
    assert sorted(number for share in shares for number in share) == list(range(count))
    lengths = [len(share) for share in shares]
    assert len(shares) == workers and max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("count, workers", SIZES)
def test_an_epoch_has_each_block_once_with_the_worker_that_has_it(count, workers):
    made = schedule(count, workers)
    for epoch in range(3):
        rounds = made.rounds(epoch)
        assert len(rounds) == made.last_round(epoch) == -(-count // workers)
        assert sorted(trained(rounds)) == list(range(count))
        for blocks in rounds:
            assert len(blocks) == workers
            owned = zip(blocks, made.shares)
            assert all(number is None or number in share for number, share in owned)


def test_the_order_is_another_in_each_epoch_and_with_each_seed():
    made = schedule(40, 2)
    assert made.rounds(0) != made.rounds(1)
    assert made.rounds(0) == schedule(40, 2).rounds(0) != schedule(40, 2, seed=4).rounds(0)


@pytest.mark.parametrize("before, after", [(3, 2), (2, 3), (3, 1), (1, 3)])
def test_other_workers_share_what_is_left_of_an_epoch_evenly(before, after):
    old, state = schedule(23, before), at(epoch=1, round=4)
    new = old.resize(after, state)
    done = trained(old.rounds(1)[:4])
    todo = new.todo(state)
    assert sorted(done + trained(blocks for _, blocks in todo)) == list(range(23))
    assert [number for number, _ in todo] == list(range(4, new.last_round(1)))
    assert len(todo) == -(-(23 - len(done)) // after)
    lengths = Counter(len(share) for share in new.shares)
    assert max(lengths) - min(lengths) <= 1
    assert sorted(trained(new.rounds(2))) == list(range(23)) and new.first_round(2) == 0


def test_workers_may_change_twice_in_an_epoch():
    state, later = at(round=2), at(round=5)
    first = schedule(30, 3)
    second = first.resize(2, state)
    third = second.resize(4, later)
    done = trained(first.rounds(0)[:2]) + trained(second.rounds(0)[:3])
    assert sorted(done + trained(third.rounds(0))) == list(range(30))


def test_as_many_workers_as_before_go_on_as_they_would_have():
    made = schedule(23, 3)
    assert made.resize(3, at(round=4)) is made


def test_at_the_start_of_an_epoch_nothing_has_begun():
    assert schedule(23, 3).resize(2, at(epoch=2)) == schedule(23, 2)


def test_a_checkpoint_knows_what_had_begun():
    class Data:
        sizes = list(range(1, 24))

    class Workers:
        size = 2

    state, extra = at(epoch=1, round=4, seed=3), {"workers": 3}
    made = schedule(23, 3).resize(2, state)
    write_schedule(made, extra)
    assert extra["workers"] == 2
    assert schedule_of(Data, Workers, state, extra) == made
    assert schedule_of(Data, Workers, state, {}) == schedule(23, 2)
