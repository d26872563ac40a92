"""Commands as newcomers and cluster users type them, each in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sparkdl import Network, digits

ROOT = Path(__file__).resolve().parent.parent.parent
LENET = str(ROOT / "conf" / "lenet.yaml")
BUSY = r"\d+ executors of 2 .*; waiting for more: "  # the machine, where they start late
EXPECTED = rf"{BUSY}|\s*$"  # no progress bar where no terminal is
OWN = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}


def run(*command, cwd, **environment):
    """Runs a command; returns (exit code, stdout, stderr)."""
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_demo_reaches_its_accuracy_on_two_executors(tmp_path):
    code, out, err = run(sys.executable, "-m", "sparkdl", "demo", cwd=tmp_path)
    assert code == 0, err
    assert float(re.search(r"accuracy +(\S+)", out)[1]) >= 0.97
    for part in ("local-cluster[2,1,1024]", "rows: truth, columns: prediction", "where time went"):
        assert part in out
    assert "the model is in sparkdl-demo-model" in out
    foreign = [line for line in re.split(r"[\r\n]+", err) if not re.match(EXPECTED, line)]
    assert not foreign, "\n".join(foreign)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sparkdl-demo-model"]
    batch = digits("test")
    network = Network.load(tmp_path / "sparkdl-demo-model")
    assert network.evaluate(((batch.features / 255), batch.labels)).accuracy >= 0.97


@pytest.mark.slow
def test_spark_submit_runs_a_file_of_conf_with_code_from_a_zip(tmp_path):
    code = shutil.make_archive(str(tmp_path / "pyfiles"), "zip", ROOT, "sparkdl")
    submit = Path(sys.executable).with_name("spark-submit")
    master = ["--master", "local-cluster[1,2,1024]", "--conf", "spark.ui.enabled=false"]
    small = ["epochs=1", "data.train.records=640", "data.validation.records=200"]
    small += ["spark.master=yarn", "spark.config.spark.ui.enabled=true", "checkpoints=null"]
    settings = [part for setting in small for part in ("--set", setting)]
    command = [submit, *master, "--py-files", code, ROOT / "sparkdl" / "__main__.py"]
    code, out, err = run(*command, "train", "--conf", LENET, *settings, cwd=tmp_path, **OWN)
    assert code == 0, err[-3000:]
    assert "the model is in lenet-model" in out
    assert Network.load(tmp_path / "lenet-model").state.epoch == 1
    assert "SparkUI" not in err  # options given to spark-submit take effect


@pytest.mark.slow
def test_spark_submit_ends_with_one_sentence_for_a_mistake(tmp_path):
    submit = Path(sys.executable).with_name("spark-submit")
    command = [submit, "--master", "local[1]", ROOT / "sparkdl" / "__main__.py", "summary"]
    code, out, err = run(*command, "--conf", LENET, "--set", "epoch=1", cwd=tmp_path, **OWN)
    assert code == 2
    assert "RunConf has no field 'epoch'; did you mean 'epochs'?" in out  # Spark merges the streams
    assert "Traceback" not in out + err
