"""Every process gets every text, round after round; who is missing is named."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from sparkdl.errors import ConfigError, WorkerError
from sparkdl.exchange.rendezvous import FileRendezvous


def gather_rounds(place, rounds=5):
    return [place.all_gather(f"ä {place.rank} in {n}", timeout=10) for n in range(rounds)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_get_all_texts_in_order(size, tmp_path):
    places = [FileRendezvous(tmp_path / "new", rank, size) for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        results = list(pool.map(gather_rounds, places))
    assert results == [[[f"ä {r} in {n}" for r in range(size)] for n in range(5)]] * size
    assert len(list((tmp_path / "new").iterdir())) == size  # the last round's only


def test_who_is_missing_is_named(tmp_path):
    FileRendezvous(tmp_path, 1, 4)._leave(0, "here")
    with pytest.raises(WorkerError, match="2 of 4 processes.*within 0.2 s: rank 0, 3"):
        FileRendezvous(tmp_path, 2, 4).all_gather("here", timeout=0.2)


@pytest.mark.parametrize("rank, size", [(-1, 2), (2, 2), (0, 0), ("0", 1)])
def test_a_rank_must_be_below_the_size(rank, size, tmp_path):
    with pytest.raises(ConfigError, match=r"FileRendezvous\.(rank|size) must be an integer"):
        FileRendezvous(tmp_path, rank, size)
