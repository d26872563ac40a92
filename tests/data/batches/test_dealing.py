"""Records are dealt to blocks: each to exactly one, for any partitions, reproducibly."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkdl.data.batches.batch import Batch
from sparkdl.data.batches.dealing import WAYS, Dealing, assemble_block, deal, shuffle_positions
from sparkdl.errors import ConfigError, DataError

TOTALS = [1, 2, 3, 4, 5, 10, 16, 17, 255, 1000, 4096, 4097, 65_537]
MEGABYTE = 1 << 20


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def partitions(counts, per_batch=7):
    """Returns the batches of each partition; a record's feature is its index in the data set."""
    start, parts = 0, []
    for partition, count in enumerate(counts):
        whole = Batch.of(np.arange(start, start + count), partition=partition)
        cuts = range(0, count, per_batch)
        parts.append([whole.take(slice(at, at + per_batch)) for at in cuts])
        start += count
    return parts


def dealt(dealing):
    """Returns {block: its pieces} as workers would produce them."""
    blocks = {}
    for partition, batches in enumerate(partitions(dealing.counts)):
        for block, piece in dealing.pieces(partition, batches):
            blocks.setdefault(block, []).append(piece)
    return blocks


def contents(dealing):
    return {
        block: assemble_block(pieces).features.tolist() for block, pieces in dealt(dealing).items()
    }


def dealing(counts, size=4, scatter=False, window=8, seed=1):
    options = {"size": size, "scatter": scatter, "window": window, "seed": seed}
    return Dealing(counts=tuple(counts), **options)


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_a_shuffle_puts_every_record_in_a_place_of_its_own(total, seed):
    places = shuffle_positions(np.arange(total), total, seed)
    assert places.dtype == np.int64
    np.testing.assert_array_equal(np.sort(places), np.arange(total))


@given(st.integers(1, 3000), st.integers(0, 2**63 - 1))
@settings(max_examples=60, deadline=None)
def test_a_shuffle_is_one_for_any_total_and_seed(total, seed):
    assert len(set(shuffle_positions(np.arange(total), total, seed).tolist())) == total


def test_a_part_of_a_shuffle_is_that_part_of_the_whole():
    """So each partition can compute the positions of its own records independently."""
    whole = shuffle_positions(np.arange(1000), 1000, 3)
    parts = [
        shuffle_positions(np.arange(a, b), 1000, 3) for a, b in [(0, 1), (1, 400), (400, 1000)]
    ]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert shuffle_positions(np.arange(0), 1000, 3).tolist() == []


def test_seeds_shuffle_differently():
    one, other = (shuffle_positions(np.arange(1000), 1000, seed) for seed in (3, 4))
    assert (one == other).mean() < 0.02


@pytest.mark.parametrize("total", [1000, 4097, 60_000])
def test_a_shuffle_looks_random(total):
    """Neighbors are uncorrelated, and each tenth of the records spreads over all tenths."""
    places = shuffle_positions(np.arange(total), total, 5)
    assert abs(np.corrcoef(places[:-1], places[1:])[0, 1]) < 4 / np.sqrt(total)
    table, _, _ = np.histogram2d(np.arange(total), places, bins=10)
    chi_square = ((table - total / 100) ** 2 / (total / 100)).sum()
    assert 81 - 5 * np.sqrt(162) < chi_square < 81 + 5 * np.sqrt(162)  # 81 degrees of freedom


def test_ten_million_records_take_no_memory_of_that_size():
    places = shuffle_positions(np.arange(9_999_000, 10_000_000), 10_000_000, 1)
    assert len(set(places.tolist())) == 1000 and 0 <= places.min() <= places.max() < 10_000_000


DEALINGS = st.builds(
    lambda counts, size, scatter, windows, seed: dealing(
        counts, size, scatter, size * windows, seed
    ),
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(sum),
    st.integers(1, 12),
    st.booleans(),
    st.integers(1, 3),
    st.integers(0, 2**63 - 1),
)


@pytest.mark.slow
@given(DEALINGS)
@settings(max_examples=150, deadline=None)
def test_every_record_is_in_exactly_one_block_of_the_size_that_was_announced(made):
    blocks = contents(made)
    assert sorted(chain(*blocks.values())) == list(range(sum(made.counts)))
    assert [len(blocks[number]) for number in sorted(blocks)] == list(made.sizes)
    assert sorted(blocks) == list(range(len(made.sizes)))
    assert max(made.sizes) <= made.size and min(made.sizes) >= 1
    assert contents(made) == blocks


@given(DEALINGS, st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_how_a_partition_is_cut_into_batches_does_not_matter(made, per_batch):
    blocks = {}
    for partition, batches in enumerate(partitions(made.counts, per_batch)):
        for block, piece in made.pieces(partition, iter(batches)):
            blocks.setdefault(block, []).append(piece)
    assert {
        number: assemble_block(p).features.tolist() for number, p in blocks.items()
    } == contents(made)


@pytest.mark.parametrize("scatter", [True, False])
def test_a_block_does_not_depend_on_the_order_in_which_its_pieces_come(scatter, rng):
    for number, pieces in dealt(dealing([9, 0, 14, 2], scatter=scatter)).items():
        wanted = assemble_block(pieces)
        for _ in range(3):
            found = assemble_block([pieces[i] for i in rng.permutation(len(pieces))])
            np.testing.assert_array_equal(found.features, wanted.features, str(number))
            np.testing.assert_array_equal(found.ids, wanted.ids)


@pytest.mark.parametrize("scatter", [True, False])
def test_seeds_deal_differently(scatter):
    one, other = (contents(dealing([40], scatter=scatter, seed=seed)) for seed in (1, 2))
    assert one != other


def test_a_block_of_one_partition_holds_records_of_that_partition():
    counts = [9, 0, 14, 2]
    ends = np.cumsum(counts)
    for records in contents(dealing(counts)).values():
        assert len(set(np.searchsorted(ends, records, side="right"))) == 1


def test_scattered_blocks_are_full_but_one_and_mix_partitions():
    made = dealing([30, 1, 1, 1, 7], scatter=True)
    assert made.sizes == [4] * 10
    assert any(max(r) - min(r) > 25 for r in contents(made).values())


def test_within_a_window_records_are_shuffled():
    blocks = contents(dealing([64], size=8, window=64))
    assert all(max(records) - min(records) > 8 for records in blocks.values())


@pytest.mark.parametrize("scatter", [True, False])
@pytest.mark.parametrize("found", [4, 6])
def test_data_that_change_between_counting_and_dealing_are_refused(scatter, found):
    made = dealing([3, 5], scatter=scatter)
    batches = partitions([3, found])[1]
    message = rf"partition 1: 5 records were counted, then there were {found}"
    with pytest.raises(DataError, match=message):
        list(made.pieces(1, batches))


# counts, records per block, workers -> {repartition: (scattered, blocks)}
DECISIONS = {
    "one partition": ([100], 10, 2, {"uneven": (False, 10), "never": (False, 10)}),
    "even": ([50, 50], 10, 2, {"uneven": (False, 10), "never": (False, 10)}),
    "one short block more is fine": ([55, 46], 10, 2, {"uneven": (False, 11)}),
    "a rest each": ([11, 11, 11, 11], 10, 2, {"uneven": (True, 5), "never": (False, 8)}),
    "many tiny ones": ([1] * 100, 10, 2, {"uneven": (True, 10), "never": (False, 100)}),
    "a tenth of many": ([101] * 2 + [100] * 18, 10, 2, {"uneven": (False, 202)}),
    "empty ones do no harm": ([0, 100, 0, 0], 10, 2, {"uneven": (False, 10)}),
    "fewer records than a block": ([7], 10, 1, {"uneven": (False, 1)}),
    "less than a block a worker": ([7], 10, 2, {"uneven": (False, 2)}),
    "fewer records than workers": ([2, 1], 10, 8, {"uneven": (False, 3), "always": (True, 3)}),
    "one record": ([0, 1], 10, 3, {"uneven": (False, 1), "always": (True, 1)}),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_when_records_are_scattered(name):
    counts, size, workers, wanted = DECISIONS[name]
    made = {way: deal(counts, MEGABYTE, size, workers, repartition=way, seed=3) for way in WAYS}
    assert made["always"].scatter and not made["never"].scatter
    for way, decision in wanted.items():
        assert (made[way].scatter, len(made[way].sizes)) == decision, way
        assert sum(made[way].sizes) == sum(counts)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=5).filter(sum), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_no_worker_is_without_a_block_while_there_are_records(counts, workers):
    for way in WAYS:
        made = deal(counts, MEGABYTE, 1000, workers, way, 0)
        # scattered blocks are equal except the last: 4 workers share 5 records as 2, 2, 1
        assert len(made.sizes) >= -(-sum(counts) // -(-sum(counts) // workers))


WINDOWS = {  # bytes of 1,000 records in blocks of 10 -> records per window
    "small records": (1000, 640),  # at most 64 blocks
    "as large as the window": (64 * MEGABYTE, 640),
    "ten times": (640 * MEGABYTE, 100),
    "huge ones": (1 << 50, 10),  # at least one block
    "none at all": (0, 640),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_hold_whole_blocks_and_some_megabytes(name):
    nbytes, window = WINDOWS[name]
    assert deal([1000], nbytes, 10, 2, "never", 0).window == window


def test_without_records_there_is_nothing_to_deal():
    for counts in ([], [0, 0]):
        with pytest.raises(ConfigError, match="counts must be records, .*the data set is empty"):
            deal(counts, 0, 10, 2, "uneven", 0)
    with pytest.raises(ConfigError, match="size must be at least 1 record, got 0"):
        dealing([3], size=0)
