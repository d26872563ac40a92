"""The places of ids, against a dict."""

import numpy as np

from sparkdl.nn.tables.id_index import FIRST, IdIndex, hash_ids


def test_it_finds_what_a_dict_finds(rng):
    index, known, places = IdIndex(), np.zeros(0, np.int64), {}
    for size, below in ((1, 5), (600, 2000), (5 * FIRST, 2**62), (100, 2**63 - 1)):
        ids = np.unique(rng.integers(0, below, size))
        new = ids[index.find(ids, known) < 0]
        places |= {int(id_): len(known) + i for i, id_ in enumerate(new)}
        known = np.concatenate([known, new])
        index.add(known, len(known))
        asked = np.concatenate([rng.permutation(known), rng.integers(0, below, 50)])
        expected = [places.get(int(id_), -1) for id_ in asked]
        np.testing.assert_array_equal(index.find(asked, known), expected)
    assert index.nbytes <= 8 * len(known)


def test_the_hash_is_that_of_splitmix64():
    # The first numbers of SplittableRandom(0), published with the algorithm; state 0, then 2 steps.
    step = np.int64(np.uint64(0x9E3779B97F4A7C15).view(np.int64))
    with np.errstate(over="ignore"):
        states = np.array([0, step], np.int64)
    assert [hex(x) for x in hash_ids(states)] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]
