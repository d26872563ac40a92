"""build.py cluster starts, prints all addresses, and leaves nothing behind."""

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.cluster.jars import class_path
from tests.cluster.required import or_skip
from tests.cluster.web import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def test_it_runs_until_it_is_told_to_end():
    or_skip("hdfs", class_path)
    command = [sys.executable, "-m", "tests.cluster", "--datanodes", "1", "--nodes", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        try:
            printed = until(process.stdout, "Ctrl-C ends it")
            [web] = re.findall(r"^ +(http://\S+)$", printed, re.MULTILINE)
            with urllib.request.urlopen(f"{web}/jmx", timeout=PATIENCE) as answer:
                assert answer.status == 200
            [conf] = re.findall(r'HADOOP_CONF_DIR="(.*)"', printed)
            assert Path(conf, "core-site.xml").exists()
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert not Path(conf).exists()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"{web}/jmx", timeout=PATIENCE)


def until(lines, last):
    """Returns the output up to a line that starts with `last`."""
    printed = []
    for line in lines:
        printed.append(line)
        if line.startswith(last):
            return "".join(printed)
    raise AssertionError("it ended early:\n" + "".join(printed))
