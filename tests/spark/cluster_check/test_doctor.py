"""The doctor run against real executors, including some that lack sparkdl."""

import socket

import pytest

import sparkdl
from sparkdl.spark.cluster_check import process_facts
from sparkdl.spark.cluster_check.connections import failed_connection
from sparkdl.spark.cluster_check.doctor import by_value, doctor
from sparkdl.spark.jobs import job_watch, waiting
from sparkdl.spark.jobs.slots import live_executors
from tests.support.held_slots import held_slots


def test_a_sound_cluster_has_nothing_to_mend(spark):
    diagnosis = doctor(spark)
    assert diagnosis.problems == []
    there = sorted(f"executor {name}" for name, _ in live_executors(spark.sparkContext))
    assert [one["name"] for one in diagnosis.executors] == there and len(there) == 2
    for one in diagnosis.executors:
        assert one["packages"] == diagnosis.driver["packages"]
        assert abs(one["clock_error"]) < 1
    assert "no problems were found" in str(diagnosis)
    assert sparkdl.doctor is doctor


def test_a_cluster_that_gives_no_slot_is_told(spark, sc, monkeypatch):
    monkeypatch.setattr(waiting, "time_limit", lambda sc: 1.0)
    monkeypatch.setattr(job_watch, "POLL", 0.05)
    with held_slots(sc):
        diagnosis = doctor(spark)
    [problem] = diagnosis.problems
    assert problem.startswith("no task of 'the cluster is examined' has started within")
    assert "other jobs hold all slots" in problem and diagnosis.executors == []


def test_executors_that_lack_sparkdl_are_named(spark, monkeypatch):
    monkeypatch.setattr(process_facts, "MODULES", ("sparkdl_that_nobody_has", "pyspark"))
    with by_value(process_facts):
        rdd = spark.sparkContext.parallelize(["executor_host_0"], 1)
        [found] = rdd.map(process_facts.process_facts).collect()
    assert found["packages"]["sparkdl_that_nobody_has"] is None


def test_a_module_that_lacks_another_says_which(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import nowhere_to_be_found\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert "nowhere_to_be_found" in process_facts.module_version("half_there")


def test_a_port_where_nobody_listens_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert list(failed_connection("here", "127.0.0.1", port)) == []
    with socket.socket() as reserved:  # nobody else listens there meanwhile
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        [sentence] = failed_connection("here", "127.0.0.1", port)
    assert f"here cannot connect to 127.0.0.1:{port}: " in sentence


@pytest.mark.parametrize("text, expected", [("MemAvailable:  2048 kB\n", 2 * 2**20), ("", None)])
def test_memory_is_what_the_system_tells(text, expected, monkeypatch):
    monkeypatch.setattr(process_facts, "read", lambda path: text if "meminfo" in path else "")
    assert process_facts.free_memory() == expected


def test_the_limit_of_a_container_counts(monkeypatch):
    files = {
        "/proc/meminfo": "MemAvailable: 4194304 kB\n",
        "/sys/fs/cgroup/memory.max": "1048576\n",
        "/sys/fs/cgroup/memory.current": "1000000\n",
    }
    monkeypatch.setattr(process_facts, "read", files.get)
    assert process_facts.free_memory() == 48576
