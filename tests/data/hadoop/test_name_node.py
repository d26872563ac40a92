"""A NameNode that restarts, observed through questions that fail in turn, and a clock."""

import logging
import threading
from types import SimpleNamespace

import pytest
from hdfs import HdfsError

from sparkdl.data.hadoop import base, name_node, native, native_calls, web
from sparkdl.data.hadoop.name_node import CONNECT, RESTART, NameNode
from sparkdl.data.hadoop.streams import NoAnswer, RequestRefused, Starting, Unreachable
from tests.support.waiting import until


class Clock:
    """Time that passes while someone sleeps, or asks."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(name_node, "time", clock)
    monkeypatch.setattr(base, "_name_nodes", {})
    return clock


class Answers:
    """A question that is answered by each of these in turn, and by the last one for good."""

    def __init__(self, *answers):
        self.left, self.asked = list(answers), 0

    def __call__(self, *_):
        self.asked += 1
        answer = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


DOWN, STARTING = Unreachable("refused"), Starting("SafeModeException: a")
GIVEN_UP = [
    ("it never answered", [], DOWN, CONNECT),
    ("it has answered", [1], DOWN, RESTART),
    ("it has refused", [RequestRefused("no")], DOWN, RESTART),
    ("a file was missing", [FileNotFoundError("/a")], DOWN, RESTART),
    ("it says that it starts", [], STARTING, RESTART),
    ("Kerberos failed", [NoAnswer("no ticket")], DOWN, CONNECT),
]


@pytest.mark.parametrize("_, before, failure, limit", GIVEN_UP, ids=[row[0] for row in GIVEN_UP])
def test_how_long_a_name_node_is_asked(clock, _, before, failure, limit):
    node = NameNode("hdfs://nn")
    for answer in before:
        try:
            node.ask(Answers(answer))
        except OSError as error:
            assert error is answer
    with pytest.raises(RequestRefused, match=f"^{failure}, for {limit:g} s$"):
        node.ask(Answers(failure))
    assert clock.now == limit


def test_who_was_given_up_is_waited_for_as_a_stranger(clock):
    """Whatever follows a failure, as the removal of a temporary file, does not wait as long."""
    node = NameNode("hdfs://nn")
    node.ask(Answers(1))
    for passed in (RESTART, CONNECT):
        start = clock.now
        with pytest.raises(NoAnswer, match=f"^refused, for {passed:g} s; look there$"):
            node.ask(Answers(Unreachable("refused; look there")))
        assert clock.now - start == passed


def test_a_name_node_that_comes_back_answers(clock, caplog):
    question = Answers(DOWN, DOWN, STARTING, "found")
    with caplog.at_level(logging.WARNING):
        assert NameNode("hdfs://nn").ask(question) == "found"
    assert (question.asked, clock.now) == (4, 3)
    assert [one.getMessage() for one in caplog.records] == [
        "hdfs://nn: the NameNode is not ready (refused); it is asked again for up to 10 s"
    ]


@pytest.mark.parametrize("failure", [OSError("no route"), RequestRefused("no"), ValueError()])
def test_what_waiting_does_not_mend_is_raised_at_once(clock, failure):
    with pytest.raises(type(failure)):
        NameNode("hdfs://nn").ask(Answers(failure))
    assert clock.now == 0


def test_a_call_that_takes_long_itself_counts(clock):
    def ask():
        clock.now += CONNECT
        raise DOWN

    with pytest.raises(RequestRefused, match="^refused, for 10 s$"):
        NameNode("hdfs://nn").ask(ask)


class Cluster:
    """A client whose NameNode breaks off the first change, before or after it was made."""

    def __init__(self, is_made):
        self.is_made, self.has_failed, self.paths = is_made, False, {"/a"}

    def break_off(self, change):
        if self.has_failed:
            return change()
        if self.is_made:
            change()
        self.has_failed = True
        raise OSError("RPC listener disconnected")

    def get_file_info(self, path):
        if path not in self.paths:
            raise FileNotFoundError(path)
        kind = {"length": 1, "isdir": False, "modification_time": 0}
        return SimpleNamespace(path=path, **kind)

    def rename(self, path1, path2):
        return self.break_off(lambda: self.move(path1, path2))

    def move(self, path1, path2):
        if path1 not in self.paths:
            raise FileNotFoundError(path1)
        self.paths = self.paths - {path1} | {path2}

    def delete(self, path, recursive):
        return self.break_off(lambda: self.remove(path))

    def remove(self, path):
        was_there = path in self.paths
        self.paths.discard(path)
        return was_there


CHANGES = {"mv": (("/a", "/b"), {"/b"}), "rm": (("/a",), set())}


@pytest.mark.parametrize("is_made", [False, True], ids=["not made", "made"])
@pytest.mark.parametrize("verb", CHANGES)
def test_a_change_whose_answer_was_lost_is_made_once(clock, monkeypatch, verb, is_made):
    arguments, left = CHANGES[verb]
    cluster = Cluster(is_made)
    monkeypatch.setattr(native.NativeFiles, "client", cluster)
    getattr(native.NativeFiles("hdfs", "nn"), verb)(*arguments)
    assert cluster.paths == left


def rpc(name, message):
    """Returns the text of hdfs-native for an exception of the NameNode."""
    return f'RPCError("org.apache.hadoop.{name}", "{message}")'


SAFE = r"Cannot create /a. Name node is in safe mode.\n"
TEXTS = [
    ("Connection refused (os error 111)", Unreachable),
    ("Connection reset by peer (os error 104)", Unreachable),
    ("Broken pipe (os error 32)", Unreachable),
    ("RPC listener disconnected", Unreachable),
    ("Connection timed out (os error 110)", OSError),
    ("failed to lookup address information: Name or service not known", OSError),
    (rpc("ipc.RetriableException", "NameNode still not started"), Starting),
    (rpc("ipc.RetriableException", SAFE + "It was turned on manually."), RequestRefused),
    (rpc("namenode.SafeModeException", SAFE + "It was turned on manually."), RequestRefused),
    (rpc("namenode.SafeModeException", SAFE + "turned off automatically in 9 seconds."), Starting),
    (rpc("namenode.SafeModeException", SAFE + "Resources are low on NN."), RequestRefused),
    (rpc("security.AccessControlException", "Permission denied"), RequestRefused),
    (rpc("ipc.StandbyException", "Operation category READ is not supported"), Unreachable),
]


@pytest.mark.parametrize("text, kind", TEXTS)
def test_which_errors_pass(text, kind):
    error = native_calls.as_os_error(text)
    assert type(error) is kind
    assert r"\n" not in str(error) and "RPCError" not in str(error)


def test_a_write_waits_for_a_name_node_once_not_at_each_of_its_tries(clock, monkeypatch):
    create = Answers(OSError("Connection refused (os error 111)"))
    monkeypatch.setattr(native.NativeFiles, "client", SimpleNamespace(create=create))
    file = native.NativeFiles("hdfs", "nn").open("/a", "wb")
    with pytest.raises(RequestRefused, match=r"^Connection refused \(os error 111\), for 10 s$"):
        file.close()
    assert clock.now == CONNECT


def test_what_is_never_answered_is_asked_once(clock, monkeypatch):
    never = threading.Event()
    create = Answers(None)
    client = SimpleNamespace(create=lambda *_: create() or never.wait())
    monkeypatch.setattr(native.NativeFiles, "client", client)
    monkeypatch.setattr(native_calls, "ANSWER", 0.05)
    with pytest.raises(NoAnswer, match=r"^HDFS did not answer within 0.05 s$"):
        native.NativeFiles("hdfs", "nn").open("/a", "wb").close()
    assert until(lambda: create.asked) == 1  # its thread may start later than that
    never.set()


class TwoNameNodes:
    """A client of WebHDFS that asks a second NameNode after the first has made the change."""

    def __init__(self):
        self.paths = {"/a"}

    def status(self, path):
        if path not in self.paths:
            raise HdfsError("none", exception="FileNotFoundException")
        return {"length": 1, "type": "FILE", "modificationTime": 0}

    def rename(self, path1, path2):
        self.paths = {path2}
        raise HdfsError(f"Unable to rename {path1}")

    def delete(self, path, recursive):
        self.paths = set()
        return False  # says the second


def test_a_rename_that_the_library_repeats_is_made(clock, monkeypatch):
    client = TwoNameNodes()
    monkeypatch.setattr(web.WebFiles, "client", client)
    web.WebFiles("webhdfs", "Blue").mv("/a", "/b")
    assert client.paths == {"/b"}
    monkeypatch.setattr(client, "rename", Answers(HdfsError("Unable to rename")))
    with pytest.raises(RequestRefused, match="Unable to rename"):
        web.WebFiles("webhdfs", "Blue").mv("/b", "/c")


def test_a_removal_that_the_library_repeats_is_made(clock, monkeypatch):
    client = TwoNameNodes()
    monkeypatch.setattr(web.WebFiles, "client", client)
    web.WebFiles("webhdfs", "Blue").rm("/a")
    assert not client.paths
    with pytest.raises(FileNotFoundError, match="/a"):
        web.WebFiles("webhdfs", "Blue").rm("/a")
    client.paths = {"/a"}
    monkeypatch.setattr(client, "delete", lambda path, recursive: False)
    with pytest.raises(RequestRefused, match="/a was not removed"):
        web.WebFiles("webhdfs", "Blue").rm("/a")
