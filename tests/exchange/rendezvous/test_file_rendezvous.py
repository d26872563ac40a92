"""Every process gets every text, round after round; missing processes are named."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sparkdl.errors import ConfigError, DataError, WorkerError
from sparkdl.exchange.connections.endpoint import Endpoint
from sparkdl.exchange.rendezvous import address_rendezvous
from sparkdl.exchange.rendezvous.address_rendezvous import AddressRendezvous, RendezvousServer
from sparkdl.exchange.rendezvous.file_rendezvous import FileRendezvous
from sparkdl.exchange.rendezvous.member import GroupMember
from tests.exchange.pairs import OTHER, SECRET


def gather_rounds(place, rounds=5):
    return [place.all_gather(f"ä {place.rank} in {n}", timeout=10) for n in range(rounds)]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_get_all_texts_in_order(size, tmp_path):
    places = [FileRendezvous(tmp_path / "new", rank, size) for rank in range(size)]
    with ThreadPoolExecutor(size) as pool:
        results = list(pool.map(gather_rounds, places))
    assert results == [[[f"ä {r} in {n}" for r in range(size)] for n in range(5)]] * size
    assert len(list((tmp_path / "new").iterdir())) == size  # only those of the last round


@pytest.mark.slow
def test_who_is_missing_is_named(tmp_path):
    FileRendezvous(tmp_path, 1, 4)._leave(0, "here")
    with pytest.raises(WorkerError, match="2 of 4 processes.*within 0.2 s: rank 0, 3"):
        FileRendezvous(tmp_path, 2, 4).all_gather("here", timeout=0.2)


def fifo(place, _):
    os.mkfifo(place, 0o600)


def large(place, _):
    place.touch(0o600)
    os.truncate(place, 600 << 20)


def link(place, victim):
    place.symlink_to(victim)


def writeable_by_all(place, _):
    place.write_text("text")
    place.chmod(0o666)


def bytes_of_another_kind(place, _):
    place.write_bytes(b"\xff\xfe")


def folder(place, _):
    place.mkdir()


POISONS = [fifo, large, link, writeable_by_all, bytes_of_another_kind, folder]


@pytest.mark.parametrize("poison", POISONS)
def test_what_is_no_text_of_a_process_is_refused(poison, tmp_path):
    (tmp_path / "victim").write_text("a password")
    folder = tmp_path / "meeting"
    folder.mkdir(mode=0o700)
    poison(folder / "0-1", tmp_path / "victim")
    with pytest.raises(WorkerError, match="meeting") as caught:
        FileRendezvous(folder, 0, 2).all_gather("here", timeout=5)
    assert "password" not in str(caught.value)


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim").write_text("a password")
    folder = tmp_path / "meeting"
    folder.mkdir(mode=0o700)
    (folder / "0-0").symlink_to(tmp_path / "victim")
    assert FileRendezvous(folder, 0, 1).all_gather("here", timeout=5) == ["here"]
    assert (tmp_path / "victim").read_text() == "a password"


def test_a_folder_that_others_can_change_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(WorkerError, match="mode 777; chmod 700 it"):
        FileRendezvous(tmp_path, 0, 1).all_gather("here", timeout=5)


def test_a_description_of_another_kind_is_not_quoted():
    with pytest.raises(DataError, match="must be described as JSON") as caught:
        GroupMember.from_json("a password")
    assert "password" not in str(caught.value)


@pytest.mark.parametrize("rank, size", [(-1, 2), (2, 2), (0, 0), ("0", 1)])
def test_a_rank_must_be_below_the_size(rank, size, tmp_path):
    with pytest.raises(ConfigError, match=r"FileRendezvous\.(rank|size) must be an integer"):
        FileRendezvous(tmp_path, rank, size)


@pytest.fixture
def endpoint():
    with Endpoint(SECRET, timeout=5.0) as endpoint:
        yield endpoint


def at(endpoint, rank, size, secret=SECRET, **options):
    return AddressRendezvous(endpoint.address, secret, rank, size, timeout=5.0, **options)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_get_all_texts_through_an_address(size, endpoint, caplog):
    RendezvousServer(size, endpoint)
    with ThreadPoolExecutor(size) as pool:

        def member(rank):
            with at(endpoint, rank, size) as place:
                return gather_rounds(place)

        results = list(pool.map(member, range(size)))
    assert results == [[[f"ä {r} in {n}" for r in range(size)] for n in range(5)]] * size
    assert not caplog.text


def test_meetings_on_channels_are_apart(endpoint):
    for channel in "ab":
        RendezvousServer(1, endpoint, channel)
        with at(endpoint, 0, 1, channel=channel) as place:
            assert place.all_gather(channel, 5) == [channel]


def test_who_comes_late_to_an_address_is_told_who_is_missing(endpoint):
    RendezvousServer(2, endpoint)
    with at(endpoint, 0, 2) as place:
        dial = place._dial
        place._dial = lambda limit: time.sleep(limit) or dial(5.0)
        with pytest.raises(WorkerError, match="1 of 2 processes have not come .*: rank 1"):
            place.all_gather("here", timeout=0.05)


@pytest.mark.slow
def test_who_is_missing_at_an_address_is_named(endpoint):
    RendezvousServer(4, endpoint)
    with ThreadPoolExecutor(2) as pool:

        def member(rank):
            with at(endpoint, rank, 4) as place, pytest.raises(WorkerError) as error:
                place.all_gather("here", timeout=3.0)
            return str(error.value)

        for text in pool.map(member, [1, 2]):
            assert "2 of 4 processes have not come" in text and text.endswith("rank 0, 3")


@pytest.mark.slow
def test_a_member_that_dies_between_rounds_is_missing_in_the_next(endpoint):
    RendezvousServer(2, endpoint)
    with ThreadPoolExecutor(2) as pool:

        def member(rank):
            with at(endpoint, rank, 2) as place:
                place.all_gather("here", timeout=5)
                if rank == 0:
                    with pytest.raises(WorkerError, match="rank 1"):
                        place.all_gather("still here", timeout=0.5)

        list(pool.map(member, [0, 1]))


def test_a_rank_comes_once(endpoint):
    RendezvousServer(1, endpoint)
    with at(endpoint, 0, 1) as first, at(endpoint, 0, 1) as second, at(endpoint, 1, 2) as third:
        first.all_gather("here", timeout=5)
        for place in (second, third):
            with pytest.raises(WorkerError, match="has no place for another rank"):
                place.all_gather("me too", timeout=5)


def test_all_must_agree_on_the_size(endpoint):
    RendezvousServer(3, endpoint)
    with at(endpoint, 0, 2) as place:
        with pytest.raises(WorkerError, match="is of 3 processes, not 2"):
            place.all_gather("here", timeout=5)


def test_a_meeting_needs_the_secret(endpoint):
    RendezvousServer(1, endpoint)
    with at(endpoint, 0, 1, secret=OTHER) as place, pytest.raises(WorkerError, match="secrets"):
        place.all_gather("here", timeout=5)


@pytest.mark.slow
def test_an_address_without_a_meeting_is_an_error_in_time(endpoint, monkeypatch):
    monkeypatch.setattr(address_rendezvous, "ANSWER", 0.1)
    with at(endpoint, 0, 1) as place, pytest.raises(WorkerError, match="the others' texts"):
        place.all_gather("here", timeout=2.0)
