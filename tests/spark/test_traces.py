"""A fit leaves nothing behind in the SparkContext; its rounds leave nothing for later ones."""

import base64
import os
import secrets
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from cryptography.hazmat.primitives import serialization
from pyspark.find_spark_home import _find_spark_home

from sparkdl.errors import DataError
from sparkdl.exchange.connections.job_tls import JobTls
from sparkdl.exchange.connections.tls import Tls
from sparkdl.spark import SparkNetwork
from sparkdl.spark.session import log_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from sparkdl.training.reporting.reduce_rate import ReduceLROnPlateau
from tests.spark.networks import arrays, data, rich

MASTER = ParameterAveraging(
    aggregation="driver", batch_size_per_worker=3, averaging_frequency=1, workers=2
)

WAITS = "spark.locality.wait", "spark.locality.wait.process"


class Watch(Listener):
    """Records what exists after each round, besides the files that there were before."""

    def __init__(self, sc):
        self.sc, self.old, self.seen = sc, files(sc), []

    def on_round(self, report, state):
        self.seen.append(traces(self.sc, self.old) | {"cached": cached(self.sc)})


def traces(sc, old=()):
    """Returns what a fit might leave; of files, those besides `old`, which may go meanwhile."""
    return {
        "broadcasts": [name for name in files(sc) if name not in old],
        "locality": [sc._jsc.sc().conf().get(name, "unset") for name in WAITS],
        "description": sc.getLocalProperty("spark.job.description"),
    }


def files(sc):
    """Returns the names of this context's temporary files, which include broadcasts."""
    return sorted(name for _, _, names in os.walk(sc._temp_dir) for name in names)


def cached(sc):
    return sc._jsc.getPersistentRDDs().size()


def test_a_fit_leaves_nothing_behind(sc):
    sc.setJobDescription("the user's own")
    watch = Watch(sc)
    before = traces(sc, watch.old)
    net = SparkNetwork(sc, rich(), MASTER)
    history = net.fit(arrays(), epochs=2, validation=arrays(20), listeners=[watch])
    net.evaluate(arrays())
    sc.setJobDescription(None)
    assert len(watch.seen) == len(history.rounds) > 20
    # The blocks and the store's figures; after the first epoch, those of the validation store, too.
    counts = [2 + report.epoch for report in history.rounds]
    assert watch.seen == [before | {"cached": count} for count in counts]
    assert cached(sc) == 0
    assert traces(sc, watch.old) == before | {"description": None}
    assert before["description"] == "the user's own"


def test_a_fit_that_fails_leaves_nothing_behind(sc):
    class Stop(Exception):
        pass

    class Stopping(Listener):
        def on_round(self, report, state):
            raise Stop

    old = files(sc)
    before = traces(sc, old)
    with pytest.raises(Stop):
        SparkNetwork(sc, rich(), MASTER).fit(arrays(), listeners=[Stopping()])
    x, y = data(20)
    with pytest.raises(DataError):
        SparkNetwork(sc, rich(), MASTER).fit(sc.parallelize(list(zip(x, y + 9)), 2))
    assert traces(sc, old) == before
    assert cached(sc) == 0


class Finder(Listener):
    """After each round, searches everything that Spark's processes write or show for texts."""

    def __init__(self, spark, texts):
        self.spark, self.texts, self.found = spark, texts, set()

    def on_round(self, report, state):
        for name, content in shown_by(self.spark):
            self.found |= {(text, name) for text in self.texts() if text in content}


def shown_by(spark):
    """Yields (name, bytes) of files in Spark's folders, logs, command lines and environments."""
    sc, folders = spark.sparkContext, []
    folders += [Path(sc._temp_dir).parent, Path(_find_spark_home(), "work", sc.applicationId)]
    for process in psutil.Process().children(recursive=True):
        for name in ("cmdline", "environ"):
            yield name, read(Path(f"/proc/{process.pid}/{name}"))
        try:
            folders += map(Path, process.environ().get("SPARK_EXECUTOR_DIRS", "").split(":"))
        except psutil.Error:
            continue
    for folder in {folder for folder in folders if folder != Path()}:
        for path in paths_below(folder):
            if path.is_file():
                yield str(path), read(path)
    if log_of(spark) is not None:
        yield "log", read(log_of(spark))


def paths_below(folder):
    """Yields the files of a folder, whose own folders executors may remove meanwhile."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def read(path):
    try:
        return path.read_bytes()
    except OSError:  # the process has ended, or the file is gone
        return b""


def test_the_secret_of_a_fit_is_in_no_file_log_or_command_line(spark, monkeypatch, tmp_path):
    made, make, keys = [], secrets.token_bytes, []
    monkeypatch.setattr(secrets, "token_bytes", lambda n=None: made.append(make(n)) or made[-1])
    monkeypatch.setattr(JobTls, "new", lambda new=JobTls.new: keys.append(new()) or keys[-1])
    sc, master = spark.sparkContext, AllReduceSGD(workers=2, updates_per_round=2, tls=Tls())
    net = SparkNetwork(sc, rich(), master)
    start = net.network.state.params.tobytes()  # sent too: finding it proves the search works

    def texts():
        return [start, *(form for one in made + list(map(private, keys)) for form in forms(one))]

    finder = Finder(spark, texts)
    waited_for = ReduceLROnPlateau("loss", patience=99)  # keeps workers alive
    with events_logged(sc, tmp_path) as events:
        net.fit(arrays(), epochs=2, listeners=[finder, waited_for])
    assert made and keys
    assert {text for text, _ in finder.found} == {start}
    shown = read(events)
    assert b"SparkListenerTaskEnd" in shown
    assert not [text for text in texts() if text in shown + repr(sc.getConf().getAll()).encode()]


def private(tls):
    """Returns the 32 bytes of a private key that every base64 encoding of it contains."""
    key = serialization.load_pem_private_key(tls.key, None)
    return key.private_numbers().private_value.to_bytes(32)


def forms(secret):
    """Returns the secret as bytes, hex digits, a Python literal, and base64 at any offset."""
    encoded = [base64.b64encode(b"x" * shift + secret)[4:-4] for shift in range(3)]
    return [secret, secret.hex().encode(), repr(secret)[2:-1].encode(), *encoded]


@contextmanager
def events_logged(sc, folder):
    """Logs Spark's events, from which its UI and history server are made; yields the file."""
    conf = sc._jsc.sc().conf().clone()
    conf.set("spark.eventLog.compress", "false").set("spark.eventLog.rolling.enabled", "false")
    none, where = sc._jvm.scala.Option.empty(), sc._jvm.java.net.URI(folder.as_uri())
    log = sc._jvm.org.apache.spark.scheduler.EventLoggingListener("events", none, where, conf)
    log.start()
    sc._jsc.sc().addSparkListener(log)
    yield folder / "events"
    sc._jsc.sc().removeSparkListener(log)
    log.stop()
