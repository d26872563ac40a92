"""The error for a Spark that did not start contains the output line with the cause."""

import os
import re
import threading
import time
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import SparkSession

from sparkdl.errors import UnsupportedError
from sparkdl.spark import session, start_failures
from sparkdl.spark.start_failures import check_work_folder, first_cause, why_not
from tests.support.waiting import until

MAIN = 'Exception in thread "main" '
IVY = "java.lang.IllegalArgumentException: basedir must be absolute: ?/.ivy2.5.2/local"
OLD = "java.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been compiled by"
AT = "\tat org.apache.spark.deploy.SparkSubmit.main(SparkSubmit.scala)\n"
NOT_STARTED = "Spark did not start with master 'local[1]': "
NO_JAVA = "Spark needs Java 17 or newer, and its JVM did not start: "
PRINTED = [
    (f"WARNING: Using incubator modules\n{MAIN}{IVY}\n{AT}", NOT_STARTED + IVY),
    (f"some.Error: first\n{AT}Caused by: {IVY}\n{AT}Caused by: b\n", NOT_STARTED + IVY),
    (
        f"{MAIN}org.apache.spark.SparkException: no such master\n{AT}",
        NOT_STARTED + "no such master",
    ),
    ("Unrecognized VM option 'x'\nCould not create the JVM.\n", NOT_STARTED + "Could not create"),
    ("", NOT_STARTED + "it hung up"),
    ("JAVA_HOME is not set\n", f"{NO_JAVA}JAVA_HOME is not set; install a JDK and let JAVA_HOME"),
    ("spark-class: line 71: /opt/bin/java: No such file or directory\n", NO_JAVA + "spark-class: "),
    ("spark-class: line 97: CMD: bad array subscript\n", NO_JAVA + "spark-class: line 97"),
    (f"{MAIN}{OLD} a more recent version\n{AT}", f"{NO_JAVA}{MAIN}{OLD} a more recent version;"),
]


@pytest.mark.parametrize("printed, said", PRINTED)
def test_the_line_that_says_why_is_found(tmp_path, printed, said):
    log = tmp_path / "log"
    log.write_text(printed)
    why = why_not(log, {"spark.master": "local[1]"}, RuntimeError("it hung up"))
    assert why.startswith(said) and not log.exists()
    assert ("JDK" in why) == said.startswith(NO_JAVA)


def test_the_first_error_of_a_log_is_its_cause():
    lines = ["26/11/28 WARN a", "26/11/28 18:52:45 ERROR Utils: no folder", "Caused by: b"]
    assert first_cause(lines) == "Utils: no folder"
    assert first_cause(lines[:1]) is None


@pytest.mark.parametrize("is_there", [False, True])
def test_a_local_cluster_without_a_place_for_folders_is_refused(tmp_path, monkeypatch, is_there):
    place = tmp_path / "work" if is_there else tmp_path
    place.mkdir(exist_ok=True)
    check_work_folder("local-cluster[2,1,1024]", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: path != place)
    check_work_folder("local[2]", str(tmp_path))
    with pytest.raises(UnsupportedError, match=rf"may not write to {place}; .*--master local\[2\]"):
        check_work_folder("local-cluster[2,1,1024]", str(tmp_path))


@pytest.mark.parametrize("kind", [Py4JNetworkError, ConnectionRefusedError])
def test_a_jvm_that_ends_as_a_session_begins_is_one_sentence(tmp_path, monkeypatch, kind):
    class Started:
        def __init__(self):
            self.sparkdl_log = str(tmp_path / "log")

    class Builder:
        def config(self, conf):
            return self

        def getOrCreate(self):
            raise kind("Answer from Java side is empty")

    (tmp_path / "log").write_text("26/11/28 18:52:45 ERROR Utils: Failed to create directory /w\n")
    monkeypatch.setattr(SparkSession, "builder", Builder())
    monkeypatch.setattr(session.SparkContext, "_gateway", Started())
    monkeypatch.setattr(session, "is_of_jvm", lambda error: True)
    monkeypatch.setattr(session, "forget_jvm", lambda: None)
    with pytest.raises(UnsupportedError, match="Utils: Failed to create directory /w; what Spark"):
        session.create_session(None, "local-cluster[1,1,512]")
    monkeypatch.setattr(session, "is_of_jvm", lambda error: False)
    with pytest.raises(kind):
        session.create_session(None, "local-cluster[1,1,512]")


@pytest.mark.parametrize("master, waits", [("yarn", True), ("yarn", False), ("local[2]", True)])
def test_a_start_that_waits_for_the_cluster_is_told(master, waits, tmp_path, monkeypatch, caplog):
    is_told, before = waits and master == "yarn", timers()

    class Builder:
        def config(self, conf):
            return self

        def getOrCreate(self):
            if is_told:
                until(lambda: caplog.records)
            elif waits:
                time.sleep(0.5)
            return "a session"

    printed = tmp_path / "log"
    printed.write_text("WARN Client: a\nWARN Client: uploads libraries\n")
    monkeypatch.setattr(SparkSession, "builder", Builder())
    monkeypatch.setattr(session.SparkContext, "_gateway", SimpleNamespace(sparkdl_log=str(printed)))
    monkeypatch.setattr(start_failures, "PATIENCE", 0.2 if waits else 300.0)
    assert session.create_session(None, master) == "a session"
    until(lambda: not timers() - before)
    said = f"not started with master 'yarn' for 0.2 s: see whether .* in {printed}, the last line: "
    text = said + "WARN Client: uploads libraries$"
    assert bool(re.search(text, caplog.text, re.M)) == is_told
    assert len(caplog.records) == is_told


def timers():
    return {one for one in threading.enumerate() if isinstance(one, threading.Timer)}
