"""Which client a URI gets, observed through test doubles of the libraries."""

import os
import sys
import threading
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pytest
from requests import ConnectionError as Unreachable

from sparkdl.data import files
from sparkdl.data.hadoop import (
    base,
    file_system,
    name_node,
    native,
    native_calls,
    streams,
    web,
    web_client,
)
from sparkdl.errors import DataError, UnsupportedError
from tests.data.hadoop.folders import SERVICE, configured
from tests.support.tables import for_all

SECURE = {"hadoop.security.authentication": "kerberos", "fs.defaultFS": "hdfs://Blue"}


class Client:
    """Records the arguments it was created with."""

    def __init__(self, *args, **options):
        self.args, self.options = args, options


class Insecure(Client):
    pass


@pytest.fixture(autouse=True)
def doubles(monkeypatch):
    monkeypatch.setattr(base, "_clients", {})
    monkeypatch.setattr(native, "Client", Client)
    monkeypatch.setattr(web_client, "InsecureClient", Insecure)
    monkeypatch.setenv("HADOOP_USER_NAME", "ann")


URIS = [
    ("hdfs://nn:9000/a/b", "hdfs://nn:9000", "/a/b"),
    ("hdfs://nn/a#b?c%20d", "hdfs://nn:8020", "/a#b?c%20d"),
    ("hdfs://Blue/a", "hdfs://Blue", "/a"),
    ("hdfs:///a", "hdfs://Blue", "/a"),
    ("hdfs:/a", "hdfs://Blue", "/a"),
    ("viewfs://tables/a", "viewfs://tables", "/a"),
    ("webhdfs://Blue/a", "http://one:9870;http://two:9871", "/a"),
    ("webhdfs://nn:9870/", "http://nn:9870", "/"),
    ("swebhdfs://nn/a", "https://nn:9871", "/a"),
]


@pytest.mark.parametrize("uri, address, path", URIS)
def test_the_client_of_a_uri(tmp_path, monkeypatch, uri, address, path):
    configured(tmp_path, monkeypatch, core={"fs.defaultFS": "hdfs://Blue"}, hdfs=SERVICE)
    fs, inner = file_system(uri)
    assert (fs.client.args[0], inner) == (address, path)
    assert file_system(uri)[0].client is fs.client
    assert not files.is_local(uri)


def test_a_name_service_goes_to_the_library_as_it_takes_it(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch, hdfs=SERVICE)
    _, config = file_system("hdfs://Blue/a")[0].client.args
    assert config["dfs.ha.namenodes.Blue"] == "nn1,nn2"  # the library does not strip spaces
    assert config["dfs.namenode.rpc-address.Blue.nn2"] == "two:8020"
    assert native.SWITCHES not in config


@pytest.mark.parametrize("own, expected", [({}, "2"), ({native.SWITCHES: "7"}, "7")])
def test_a_lone_namenode_is_not_waited_for_long(tmp_path, monkeypatch, own, expected):
    configured(tmp_path, monkeypatch, hdfs=own)
    assert file_system("hdfs://nn/a")[0].client.args[1][native.SWITCHES] == expected


def test_who_asks_without_kerberos(tmp_path, monkeypatch):
    configured(tmp_path, monkeypatch)
    client = file_system("webhdfs://nn/a")[0].client
    assert isinstance(client, Insecure)
    assert (client.options["user"], client.options["timeout"]) == ("ann", web_client.TIMEOUTS)


def test_kerberos_is_of_the_configuration(tmp_path, monkeypatch):
    class Kerberos(Client):
        def __init__(self, urls, session, **options):
            session.auth = SimpleNamespace(generate_request_header=None)

    module = ModuleType("hdfs.ext.kerberos")
    module.KerberosClient = Kerberos
    monkeypatch.setitem(sys.modules, "hdfs.ext.kerberos", module)
    configured(tmp_path, monkeypatch, core=SECURE, hdfs=SERVICE)
    assert type(file_system("webhdfs:///a")[0].client) is Kerberos
    _, config = file_system("hdfs:///a")[0].client.args
    assert config["hadoop.security.authentication"] == "kerberos"


def test_kerberos_over_the_web_needs_a_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "hdfs.ext.kerberos", None)
    configured(tmp_path, monkeypatch, core=SECURE, hdfs=SERVICE)
    with pytest.raises(UnsupportedError, match=r"pip install 'sparkdl-hadoop\[kerberos\]'"):
        files.exists("webhdfs://Blue/a")


def test_a_fork_makes_clients_of_its_own(tmp_path, monkeypatch):
    monkeypatch.undo()
    configured(tmp_path, monkeypatch)
    file_system("hdfs://127.0.0.1:1/a")[0].client  # noqa: B018, creates the client
    child = os.fork()
    if child == 0:
        os._exit(len(base._clients))
    assert os.waitpid(child, 0)[1] == 0
    assert not base._clients


def test_a_fork_by_another_thread_leaves_the_client_at_hand(tmp_path, monkeypatch):
    class Emptied(dict):
        """Clients that a fork drops as soon as they are kept."""

        def __setitem__(self, key, value):
            self.clear()

    monkeypatch.setattr(base, "_clients", Emptied())
    configured(tmp_path, monkeypatch)
    assert isinstance(file_system("hdfs://nn/a")[0].client, Client)


@pytest.mark.parametrize("scheme", ["hdfs", "webhdfs"])
def test_a_cluster_that_is_down_is_no_missing_file(tmp_path, monkeypatch, scheme):
    monkeypatch.undo()
    monkeypatch.setattr(name_node, "CONNECT", 0)
    impatient = {native.SWITCHES: "1", "dfs.client.failover.sleep.base.millis": "1"}
    configured(tmp_path, monkeypatch, hdfs=impatient)
    for question in (files.exists, files.is_directory, files.open):
        with pytest.raises(DataError, match=f"^{scheme}://127.0.0.1:1/a: cannot be .* refused"):
            question(f"{scheme}://127.0.0.1:1/a")


class Answers:
    """A WebHDFS client whose reads fail (None) or return so many bytes, in turn."""

    def __init__(self, *lengths):
        self.left = list(lengths)

    @contextmanager
    def client(self):
        yield self

    @contextmanager
    def read(self, path, offset, length, chunk_size):
        count = self.left.pop(0)
        if count is None:
            raise Unreachable("refused")
        yield iter([b"x" * count])


def test_a_range_that_does_not_come_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(streams, "PAUSE", 0)
    reader = web.WebReader("webhdfs://nn/a", "/a", 4, Answers(None, 3, 4))
    assert reader.read(9) == b"xxxx"


@pytest.mark.parametrize("answer, why", [(None, "refused"), (3, "4 bytes were requested, got 3")])
def test_a_range_that_never_comes_is_an_error(monkeypatch, answer, why):
    monkeypatch.setattr(streams, "PAUSE", 0)
    reader = web.WebReader("webhdfs://nn/a", "/a", 4, Answers(*[answer] * web.TRIES))
    with pytest.raises(DataError, match=f"^webhdfs://nn/a: cannot be read from byte 0 on .*{why}"):
        reader.read(9)


def test_what_is_written_is_sent_again_as_a_whole(monkeypatch):
    monkeypatch.setattr(streams, "PAUSE", 0)
    sent = []

    def send(file):
        sent.append(file.read())
        if len(sent) < 3:
            raise OSError("a node died")

    with streams.UploadOnClose(send) as file:
        file.write(b"some")
        file.write(b"more")
        assert file.tell() == 8
    assert sent == [b"somemore"] * 3


@pytest.mark.parametrize("error, tries", [(OSError, streams.TRIES), (streams.RequestRefused, 1)])
def test_an_answer_is_taken_a_failure_is_not(monkeypatch, error, tries):
    monkeypatch.setattr(streams, "PAUSE", 0)
    sent = []

    def send(file):
        sent.append(file.read())
        raise error("why")

    file = streams.UploadOnClose(send)
    with pytest.raises(error, match="why"):
        file.close()
    assert sent == [b""] * tries
    file.close()


class Cluster:
    """A client of a cluster whose first writes fail."""

    def __init__(self, replicas, failures, known=True, hangs_at=None):
        self.replicas, self.failures, self.known = replicas, failures, known
        self.hangs_at, self.never = hangs_at, threading.Event()
        self.tried, self.asked, self.content = [], [], None

    def create(self, path, options):
        self.tried.append(options.replication)
        self.replicas = options.replication or self.replicas
        self.content = b""
        return self

    def hang(self, call):
        if self.hangs_at == (call, len(self.tried)):
            self.never.wait()

    def write(self, piece):
        self.hang("write")
        if len(self.tried) <= self.failures:
            raise RuntimeError("DataTransferError: the pipeline broke")
        self.content += piece

    def close(self):
        self.hang("close")
        assert self.content, "this takes 15 s"

    def delete(self, path, recursive):
        self.content = None

    def get_file_info(self, path):
        if not self.known:
            raise FileNotFoundError(path)
        return SimpleNamespace(replication=self.replicas)

    def set_replication(self, path, replicas):
        self.asked.append(replicas)


REPLICAS = [
    ({"replicas": 3, "failures": 0}, [None], []),
    ({"replicas": 3, "failures": 1}, [None, 2], [3]),
    ({"replicas": 3, "failures": 4}, [None, 2, 1, 1, 1], [3]),
    ({"replicas": 2, "failures": 1}, [None, 1], [2]),
    ({"replicas": 1, "failures": 2}, [None, None, None], []),
    ({"replicas": 0, "failures": 1}, [None, None], []),  # erasure coding instead of replicas
    ({"replicas": 3, "failures": 2, "known": False}, [None, None, None], []),
]


@pytest.mark.parametrize("cluster, tried, asked", REPLICAS)
def test_a_file_is_written_with_fewer_replicas_while_a_node_is_gone(
    monkeypatch, cluster, tried, asked
):
    monkeypatch.setattr(streams, "PAUSE", 0)
    cluster = Cluster(**cluster)
    with streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a").send) as file:
        file.write(b"some")
    assert (cluster.tried, cluster.asked) == (tried, asked)
    assert cluster.content == b"some"


def test_a_file_is_whole_where_the_name_node_adds_no_replicas(monkeypatch):
    """A quota may allow fewer replicas than are wanted in the end."""
    monkeypatch.setattr(streams, "PAUSE", 0)
    cluster = Cluster(replicas=3, failures=1)

    def refuse(path, replicas):
        raise OSError('RPCError("org.apache.hadoop.DSQuotaExceededException", "over the quota")')

    cluster.set_replication = refuse
    with streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a").send) as file:
        file.write(b"some")
    assert (cluster.tried, cluster.content) == ([None, 2], b"some")


ELSEWHERE = [
    ({"replicas": 3, "failures": 1}, [None, 2], 0, 0),
    ({"replicas": 3, "failures": 9}, [None, 2, 1], 0, 1),  # as soon as writing one replica fails
    ({"replicas": 2, "failures": 9}, [None, 1], 0, 1),
    ({"replicas": 1, "failures": 9}, [None], 0, 1),
    ({"replicas": 1, "failures": 9}, [None] * 3, 2, 3),
    ({"replicas": 1, "failures": 2}, [None] * 3, 9, 2),  # no WebHDFS, but the node is back
    ({"replicas": 3, "failures": 2, "known": False}, [None] * 3, 0, 0),
]


@pytest.mark.parametrize("cluster, tried, failures, elsewhere", ELSEWHERE)
def test_where_one_replica_fails_a_node_of_another_host_is_tried(
    monkeypatch, cluster, tried, failures, elsewhere
):
    monkeypatch.setattr(streams, "PAUSE", 0)
    cluster, sent = Cluster(**cluster), []

    def write(path, content):
        sent.append(path)
        if len(sent) <= failures:
            raise OSError("no DataNode of another host")
        cluster.content = content.read()

    with streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a", write).send) as file:
        file.write(b"some")
    assert (cluster.tried, sent) == (tried, ["/a"] * elsewhere)
    assert cluster.content == b"some"


def test_only_what_was_tried_before_is_waited_for(monkeypatch):
    """A way is the number of replicas, or whether the file may lie on another host alone."""
    pauses, cluster, elsewhere = [], Cluster(3, failures=5), iter([OSError] * 3)
    monkeypatch.setattr(streams, "time", SimpleNamespace(sleep=pauses.append))

    def write(path, content):
        raise next(elsewhere)("no DataNode of another host")

    with streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a", write).send) as file:
        file.write(b"some")
    assert cluster.tried == [None, 2, 1, 1, 1, 1]
    assert pauses == [0.5, 1.0]


def test_a_write_that_never_works_says_why(monkeypatch):
    monkeypatch.setattr(streams, "PAUSE", 0)
    cluster = Cluster(2, failures=99)
    file = streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a").send)
    file.write(b"some")
    with pytest.raises(OSError, match="the pipeline broke"):
        file.close()
    assert cluster.tried == [None, *[1] * streams.TRIES] and not cluster.asked
    assert cluster.content is None, "a part is left"


@pytest.mark.slow
@pytest.mark.parametrize("call", ["write", "close"])
def test_a_write_that_never_ends_is_given_up(monkeypatch, call):
    monkeypatch.setattr(streams, "PAUSE", 0)
    cluster = Cluster(3, failures=0, hangs_at=(call, 1))
    create = cluster.create

    def create_in_time(path, options):
        """The second try answers, however late its threads start."""
        monkeypatch.setattr(native, "LIMIT", 60.0 if cluster.tried else 0.2)
        return create(path, options)

    cluster.create = create_in_time
    with streams.UploadOnClose(native.ReplicatedWrite(cluster, "/a").send) as file:
        file.write(b"some")
    assert (cluster.tried, cluster.asked, cluster.content) == ([None, 2], [3], b"some")
    cluster.never.set()


class SilentCluster:
    """A client whose cluster never answers, except to the calls in `answers`."""

    def __init__(self, answers=()):
        self.answers, self.never = answers, threading.Event()

    def __getattr__(self, name):
        return self.answers[name] if name in self.answers else lambda *_, **__: self.never.wait()


class SilentNodes:
    """A file whose bytes never arrive."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __len__(self):
        return 9

    def read_range(self, start, length):
        self.cluster.never.wait()


@pytest.mark.slow
def test_what_hdfs_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(native_calls, "ANSWER", 0.05)
    cluster = SilentCluster()
    monkeypatch.setattr(native.NativeFiles, "client", cluster)
    hdfs = native.NativeFiles("hdfs", "nn")
    verbs = {
        "info": lambda: hdfs.info("/a"),
        "exists": lambda: hdfs.exists("/a"),
        "ls": lambda: hdfs.ls("/a"),
        "makedirs": lambda: hdfs.makedirs("/a"),
        "mv": lambda: hdfs.mv("/a", "/b"),
        "rm": lambda: hdfs.rm("/a"),
        "open": lambda: hdfs.open("/a"),
    }

    def check(name):
        with pytest.raises(OSError, match="^HDFS did not answer within 0.05 s$"):
            verbs[name]()

    for_all(verbs, check)
    cluster.answers = {"read": lambda path: SilentNodes(cluster)}
    with monkeypatch.context() as patient:  # this is answered, however late its thread starts
        patient.setattr(native_calls, "ANSWER", 60.0)
        file = hdfs.open("/a")
    why = "^hdfs://nn/a: cannot be read from byte 0 on .*: HDFS did not answer within 0.05 s$"
    with pytest.raises(DataError, match=why):
        file.read()
    cluster.never.set()


def test_a_long_range_is_read_in_pieces_each_of_which_has_a_limit(monkeypatch):
    monkeypatch.setattr(native, "PIECE", 4)
    content, asked = b"some bytes", []

    class Inner:
        def __len__(self):
            return len(content)

        def read_range(self, start, length):
            asked.append((start, length))
            return content[start : start + length]

    assert native.NativeReader("hdfs://nn/a", Inner()).read() == content
    assert asked == [(0, 4), (4, 4), (8, 2)]
