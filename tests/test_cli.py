"""The command line: options, one-sentence errors, and one run of each command."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkdl
from sparkdl import cli
from sparkdl.commands import demo_run
from sparkdl.data.readers.lmdb_files.writer import write_lmdb
from sparkdl.errors import DataError
from sparkdl.training.network import Network
from sparkdl.training.report.run_folder import read_run

SMALL = """
network:
  input_shape: [1, 28, 28]
  layers: [{type: Dense, units: 8, activation: relu}, {type: Output, units: 10}]
  optimizer: {type: Adam, learning_rate: 0.01}
training: {type: ParameterAveraging, workers: 2, batch_size_per_worker: 16}
data:
  train: {type: Digits, records: 320}
  validation: {type: Digits, part: test, records: 100}
epochs: 2
output: model
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs a command in a new folder with run.yaml; gives (exit code, stdout, stderr)."""
    (tmp_path / "run.yaml").write_text(SMALL)
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = cli.main(arguments)
        return code, *capsys.readouterr()

    return command


# Commands without Spark


def test_summary_prints_the_network(run):
    code, out, err = run("summary", "--conf", "run.yaml", "--set", "network.layers.0.units=5")
    assert (code, err) == (0, "")
    assert "(5,)" in out
    assert "3,985" in out  # 784 5 + 5 + 5 10 + 10


EVALUATE = ["evaluate", "--model", "model", "--data", "{type: Digits, part: test, records: 300}"]
PREDICT = ["predict", *EVALUATE[1:], "--output", "found"]
FEATURES = ["features", *PREDICT[1:], "--layers", "dense_1"]
COMMANDS = {arguments[0]: arguments for arguments in (EVALUATE, PREDICT, FEATURES)}
DEVICE = "ParameterAveraging.device must be 'auto', 'cpu' or 'cuda'"

MISTAKES = [
    (["summary", "--conf", "none.yaml"], "none.yaml: there is no such file or folder"),
    (["summary", "--conf", "run.yaml", "--set", "epoch=1"], "did you mean 'epochs'?"),
    (["train", "--conf", "run.yaml", "--set", "data.train={type: LMDB, path: x}"], "x: there is"),
    (["train", "--conf", "run.yaml", "--resume", "nowhere"], "nowhere"),
    (["train", "--conf", "run.yaml", "--set", "output=run.yaml"], "run.yaml: not a sparkdl model"),
    (["train", "--conf", "run.yaml", "--report", "model/a.html"], "--report must be outside of"),
    (
        ["train", "--conf", "run.yaml", "--log", "model"],
        "--log must be outside of",
    ),
    *(
        ([*arguments, ""], f"{arguments[-1]} must be a path that is not empty, got ''")
        for arguments in (
            ["train", "--conf"],
            ["train", "--conf", "run.yaml", "--log"],
            ["train", "--conf", "run.yaml", "--resume"],
            ["evaluate", "--data", "Digits", "--model"],
            ["demo", "--output"],
            ["submit", "--master", "yarn", "train", "--py-files"],
        )
    ),
    (
        ["convert", "--data", "Digits"],
        "convert: --output or --mean must be given: there is nothing",
    ),
    (
        ["train", "--conf", "run.yaml", "--report", "."],
        ".: must be the path of a file, got a folder",
    ),
    (["train", "--conf", "run.yaml", "--report", "run.yaml/fit.html"], "run.yaml is a file"),
    *(
        (["train", "--conf", "run.yaml", *more], "run.yaml is a file")
        for more in (
            ["--log", "run.yaml"],
            ["--log", "run.yaml/log"],
            ["--set", "checkpoints.path=run.yaml"],
            ["--set", "checkpoints.path=run.yaml/points"],
        )
    ),
    (
        ["predict", "--model", "m", "--data", "Digits", "--output", "run.yaml/p"],
        "run.yaml is a file",
    ),
    (["evaluate", "--model", "none", "--data", "Digits"], "none: there is no such model"),
    (["evaluate", "--model", "none", "--data", "Digit"], "did you mean 'Digits'?"),
    (
        ["evaluate", "--model", "none", "--data", "{type: [Digits}"],
        "--data: not valid YAML: line 1, column 15: expected ',' or ']', but got '}', while",
    ),
    (["predict", "--model", "m", "--data", "Digits", "--output", "run.yaml"], "is there already"),
    ([*EVALUATE, "--device", "gpu"], f"{DEVICE}, got 'gpu'"),
    ([*PREDICT, "--device", "GPU"], f"{DEVICE}, got 'GPU'"),
    ([*FEATURES, "--device", ""], f"{DEVICE}, got ''"),
    (
        ["train", "--conf", "run.yaml", "--set", "checkpoints.path=foo://a/b"],
        "foo://a/b: its file system cannot be reached: Protocol not known: foo",
    ),
    (["demo", "--master", ""], "SparkOptions.master must be a Spark master that is not empty"),
    (["demo", "--epochs", "0"], "RunConf.epochs must be an integer >= 1, got 0"),
    (["demo", "--workers", "0"], "ParameterAveraging.workers must be an integer >= 1"),
]


@pytest.mark.parametrize("arguments, sentence", MISTAKES, ids=lambda value: str(value)[:50])
def test_mistake_is_one_sentence_and_exit_code_2(run, arguments, sentence):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"sparkdl {arguments[0]}: ")
    assert sentence in err
    assert err.count("\n") == 1


def test_traceback_is_shown_on_request(run):
    with pytest.raises(DataError, match=r"none\.yaml"):
        run("summary", "--conf", "none.yaml", "--traceback")


def test_mistake_of_ours_is_not_hidden(run, monkeypatch):
    monkeypatch.setattr(COMMAND, lambda arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("summary", "--conf", "run.yaml")


COMMAND = "sparkdl.commands.summary.summary"
PRINTING = {
    "summary": ["summary", "--conf", "run.yaml"],
    "help": ["--help"],
    "help of a command": ["train", "--help"],
    "version": ["--version"],
}


def execute(arguments, stdout, **variables):
    """Runs sparkdl as a process; returns (exit code, standard output, standard error)."""
    done = subprocess.run(
        [sys.executable, "-m", "sparkdl", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | variables,
    )
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTING)
def test_a_reader_that_has_ended_is_no_error(run, name):
    """`sparkdl summary | head -1`"""
    reader, writer = os.pipe()
    os.close(reader)
    assert execute(PRINTING[name], writer, PYTHONUNBUFFERED="") == (141, None, "")
    if name == "summary":  # argparse itself ignores the error of an unbuffered output
        assert execute(PRINTING[name], writer, PYTHONUNBUFFERED="1") == (141, None, "")
    os.close(writer)


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("name", PRINTING)
def test_a_full_disk_under_the_output_is_one_sentence(run, name, unbuffered):
    """It was a traceback; after --help, the code was 120."""
    with open("/dev/full", "w") as full_disk:
        code, _, err = execute(PRINTING[name], full_disk, PYTHONUNBUFFERED=unbuffered)
    command = "" if name in ("help", "version") else f" {PRINTING[name][0]}"
    full = f"sparkdl{command}: standard output cannot be written: No space left on device\n"
    assert (code, err) == (2, full)


def test_another_error_of_the_system_is_not_taken_for_one_of_the_output(run, monkeypatch):
    def fail(arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(COMMAND, fail)
    with pytest.raises(OSError, match="No space left"):
        run("summary", "--conf", "run.yaml")


@pytest.mark.slow
def test_characters_that_a_terminal_lacks_are_escaped(run):
    """They were a UnicodeEncodeError."""
    name = "network.layers.0.name=caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    arguments = "summary", "--conf", "run.yaml", "--set", name
    code, out, err = execute(arguments, subprocess.PIPE, PYTHONIOENCODING="ascii")
    assert (code, err) == (0, "")
    assert rb"caf\xe9" in out


@pytest.mark.parametrize("phase", ["import", "run"])
def test_ctrl_c_is_one_line_and_exit_code_130(run, monkeypatch, phase):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    names = {"import": "sparkdl.cli.importlib.import_module", "run": COMMAND}
    monkeypatch.setattr(names[phase], interrupt)
    assert run("summary", "--conf", "run.yaml") == (130, "", "sparkdl summary: interrupted\n")


def test_a_command_without_an_output_ends_well(run, monkeypatch):
    """`sparkdl train ... >&-`: Python has no stdout then, and a fit ended with an error."""
    with monkeypatch.context() as context:
        context.setattr(sys, "stdout", None)
        assert cli.main(["summary", "--conf", "run.yaml"]) == 0


def test_another_broken_pipe_is_not_hidden_where_output_is_in_memory(run, monkeypatch):
    """An output without a descriptor raised its own error."""

    def fail(arguments):
        raise BrokenPipeError("of another")

    monkeypatch.setattr(COMMAND, fail)
    with pytest.raises(BrokenPipeError, match="of another"):
        run("summary", "--conf", "run.yaml")


def test_notes_of_an_error_are_told(run, monkeypatch):
    def fail(arguments):
        error = DataError("no records")
        error.add_note("see the log")
        error.add_note("Traceback (most recent call last):\n  of a worker")
        raise error

    monkeypatch.setattr(COMMAND, fail)
    assert run("summary", "--conf", "run.yaml")[2] == "sparkdl summary: no records; see the log\n"


@pytest.mark.parametrize("arguments", [[], ["trian"], ["train"], ["predict", "--model", "m"]])
def test_incomplete_command_shows_its_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: sparkdl" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["summary", "--conf", "none.yaml"], ["tain"]])
def test_with_standard_error_closed_nothing_else_holds_its_sentences(command, tmp_path):
    program = [sys.executable, "-m", "sparkdl", *command]
    closed = ["sh", "-c", 'exec "$@" 2>&-', "sh", *program]
    done = subprocess.run(closed, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def all_options(parser):
    """Yields (command, action) of all commands."""
    for action in parser._actions:
        for name, one in action.choices.items() if action.dest == "command" else ():
            yield from ((name, each) for each in one._actions)


def test_every_option_is_explained_and_every_path_is_checked():
    found = [(name, each) for name, each in all_options(cli.parser()) if name != "caffe"]
    assert len(found) > 60
    assert [(name, each.dest) for name, each in found if not each.help] == []
    paths = {each.dest for _, each in found if each.metavar in ("PATH", "FILE", "FOLDER")}
    assert paths - set(cli.PATHS) == {"files", "folders"}  # lists
    metavars = {each.metavar for _, each in found if each.nargs == "+"}
    assert metavars == {"NAME", "FILE", "FOLDER", "COMMAND"}


def test_demo_has_the_defaults_of_its_run():
    options = cli.parser().parse_args(["demo"])
    assert options.epochs == demo_run.EPOCHS
    assert (
        demo_run.run("m", options.master, options.workers).spark.master == "local-cluster[2,1,1024]"
    )


@pytest.mark.parametrize("start", [["-m", "sparkdl"], [str(sparkdl.__path__[0]) + "/__main__.py"]])
def test_package_runs_as_a_module_and_as_a_file(start, tmp_path):
    done = subprocess.run(
        [sys.executable, *start, "--version"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == f"sparkdl {sparkdl.__version__}\n"
    assert done.stderr == ""


# Commands on the tests' Spark


def test_train_reports_and_saves(run, spark):
    settings = "--set", "checkpoints.path=points", "--report", "fit.html"
    settings += "--log", "log", "--dashboard", "0"
    code, out, _ = run("train", "--conf", "run.yaml", *settings)
    assert code == 0
    for part in ("dense_1", "accuracy", "rows: truth", "where time went", "the model is in model"):
        assert part in out
    assert "the report of the fit is in fit.html" in out
    assert "the fit can be seen at http://127.0.0.1:" in out
    assert len(read_run("log").history.epochs) == 2
    assert "<title>model</title>" in Path("fit.html").read_text()
    assert Network.load("model").state.epoch == 2


def test_resumed_run_ends_with_the_weights_of_the_whole_one(run, spark):
    run("train", "--conf", "run.yaml", "--set", "checkpoints={path: points, every_rounds: 3}")
    whole = Network.load("model").state.params
    code, _, err = run("train", "--conf", "run.yaml", "--set", "output=two", "--resume", "points")
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(Network.load("two").state.params, whole)


@pytest.fixture
def model(tmp_path):
    """An initialized network, saved in the folder that `run` runs in."""
    network = Network(demo_run.network())
    network.save(tmp_path / "model")
    return network


@pytest.fixture
def test_digits():
    batch = sparkdl.digits("test").take(slice(300))
    return (batch.features / np.float32(255)).astype(np.float32), batch.labels


def test_evaluate_prints_what_the_network_gives_here(run, spark, model, test_digits):
    code, out, _ = run(*EVALUATE)
    assert code == 0
    assert f"accuracy   {model.evaluate(test_digits).accuracy:.4f}" in out


def test_predict_writes_parquet(run, spark, model, test_digits):
    data = "{type: Digits, part: test, records: 300}"
    code, out, _ = run("predict", "--model", "model", "--data", data, "--output", "predicted")
    assert code == 0
    assert out.endswith("\nwrote predicted\n")
    table = pq.read_table("predicted").sort_by("id").to_pandas()
    expected = model.predict(test_digits[0])
    np.testing.assert_allclose(np.stack(table["probability"]), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(table["prediction"], expected.argmax(axis=1))
    np.testing.assert_array_equal(table["label"], test_digits[1])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_device_is_asked_for_and_told(run, spark, model, name):
    code, out, err = run(*COMMANDS[name], "--device", "cpu")
    assert (code, err) == (0, "")
    assert re.search(r"^tasks computed: [1-9]\d* on the processor$", out, re.MULTILINE)


@pytest.mark.parametrize("name", ["evaluate", "predict"])
def test_a_gpu_that_is_not_there_is_one_sentence(run, spark, model, name):
    if find_spec("cupy"):
        pytest.skip("CuPy is there, and perhaps a GPU")
    code, out, err = run(*COMMANDS[name], "--device", "cuda")
    assert (code, out) == (2, "")
    assert err.startswith(
        f"sparkdl {name}: the backend cuda needs CuPy: pip install 'sparkdl-hadoop[gpu]'"
    )


def test_features_of_an_lmdb(run, spark, model, test_digits):
    write_lmdb("digits_lmdb", [sparkdl.digits("test").take(slice(300))])
    data = "{type: LMDB, path: digits_lmdb, scale: 0.00392156862745098}"
    layers = ["--layers", "dense_1", "output_1"]
    code, _, _ = run("features", "--model", "model", "--data", data, *layers, "--output", "f")
    assert code == 0
    table = pq.read_table("f").sort_by("id").to_pandas()
    expected = model.features(test_digits[0], ["dense_1"])["dense_1"]
    np.testing.assert_allclose(np.stack(table["dense_1"]), expected, rtol=1e-4, atol=1e-5)
    assert list(table.columns) == ["id", "label", "dense_1", "output_1"]


@pytest.mark.parametrize("scale", [1, 0.5])
def test_predict_keeps_the_columns_of_parquet(run, spark, model, test_digits, scale):
    pixels = (test_digits[0].reshape(300, -1) / np.float32(scale)).tolist()
    names = [f"digit {i}" for i in range(300)]
    pq.write_table(pa.table({"name": names, "pixels": pixels}), "digits.parquet")
    data = f"{{type: Parquet, path: digits.parquet, features: pixels, label: null, scale: {scale}}}"
    code, _, _ = run("predict", "--model", "model", "--data", data, "--output", "predicted")
    assert code == 0
    table = pq.read_table("predicted").to_pandas()
    assert list(table.columns) == ["name", "prediction", "probability"]
    expected = dict(zip(names, model.predict(test_digits[0]).argmax(axis=1)))
    assert dict(zip(table["name"], table["prediction"].astype(int))) == expected


@pytest.mark.parametrize("type", ["Csv", "Parquet"])
def test_a_source_has_its_own_transform_in_all_commands(run, spark, type):
    conf = sparkdl.NetworkConf(
        input_shape=(2,), layers=[sparkdl.nn.Output(units=3, name="o")], seed=1
    )
    network = Network(conf)
    network.transform = sparkdl.transforms.Scale(factor=100.0)  # as after a fit of a DataFrame
    network.save("model")
    x, y = np.array([[1.0, 2.0], [-3.0, 0.5]], np.float32), [0, 2]
    if type == "Csv":
        Path("data").write_text("a,b,label\n1,2,0\n-3,0.5,2\n")
    else:
        pq.write_table(pa.table({"features": x.tolist(), "label": y}), "data.parquet")
    path = {"Csv": "data", "Parquet": "data.parquet"}[type]
    use = "--model", "model", "--data", f"{{type: {type}, path: {path}}}"
    own = Network(conf)
    own.state = network.state
    expected = own.evaluate((x, np.array(y)))
    assert f"loss       {expected.loss:.4f}" in run("evaluate", *use)[1]
    run("predict", *use, "--output", "p")
    run("features", *use, "--layers", "o", "--output", "f")
    for folder, column in {"p": "probability", "f": "o"}.items():
        found = np.stack(pq.read_table(folder).to_pandas()[column])
        np.testing.assert_allclose(found, own.predict(x), rtol=1e-5)


@pytest.mark.parametrize("name", ["predict", "features"])
def test_a_failure_leaves_no_folder_in_the_way(run, spark, model, name):
    """The next try was refused, as the output was there already."""
    Path("data").write_text("a,b,label\n1,2,0\n")
    use = ["--model", "model", "--data", "{type: Csv, path: data}", "--output", "found"]
    for _ in range(2):
        code, _, err = run(name, *use, *COMMANDS[name][7:])
        assert code == 2 and "features must have 784 numbers, got 2" in err
        assert not Path("found").exists()


def test_unknown_layer_is_one_sentence_before_spark_starts(run, monkeypatch, model):
    monkeypatch.setattr("sparkdl.commands.inference.session", None)
    arguments = ["--model", "model", "--data", "Digits", "--layers", "dens_1", "--output", "f"]
    code, _, err = run("features", *arguments)
    assert code == 2
    assert "layers must be some of" in err
