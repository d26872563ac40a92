"""sparkdl on the command line: demo, train, evaluate, features, summary, time, caffe ..."""

import argparse
import importlib
import sys

import sparkdl
from sparkdl.commands import standard_output
from sparkdl.commands.caffe.flags import add_flags
from sparkdl.commands.options.argument_parser import ArgumentParser
from sparkdl.errors import ConfigError, SparkdlError

DATA = """the data, by type and options as in a run configuration: Digits, or
"{type: Digits, part: test}", "{type: LMDB, path: digits_lmdb, scale: 0.00390625}",
"{type: Parquet, path: digits.parquet, features: pixels, label: digit}"
"""
PATHS = (
    *("conf", "model", "resume", "report", "log", "output", "mean"),
    *("archive", "py_files", "properties"),
)


def main(arguments=None):
    """Runs one command; returns the exit code, 2 for an error that one sentence explains."""
    standard_output.escape_missing_characters()
    standard_output.replace_missing_error()
    options = argparse.Namespace(command=None, traceback=False)
    try:
        run(arguments, options)
    except SparkdlError as error:
        if options.traceback:
            raise
        notes = [note for note in getattr(error, "__notes__", []) if "\n" not in note]
        return tell(options, "; ".join([str(error), *notes]), code=2)
    except KeyboardInterrupt:
        return tell(options, "interrupted", code=130)
    except OSError as error:
        return code_without_output(options, error)
    return 0


def run(arguments, options):
    """Parses the arguments into the namespace `options`, and runs the command."""
    try:
        parser().parse_args(arguments, options)
        check_paths(options)
        module = importlib.import_module(f"sparkdl.commands.{options.module}")
        getattr(module, options.command)(options)
    except SystemExit:  # after --help, or the code of another program
        print(end="", flush=True)
        raise
    print(end="", flush=True)  # nothing where there is no stdout


def check_paths(options):
    """Raises ConfigError for an option of a path that is empty."""
    for name in () if options.command == "caffe" else PATHS:
        if getattr(options, name, None) == "":
            raise ConfigError(f"{option(name)} must be a path that is not empty, got ''")


def code_without_output(options, error):
    """Returns the exit code after an OSError of standard output; raises any other again."""
    if isinstance(error, BrokenPipeError):
        if standard_output.has_reader():
            raise error
        standard_output.discard()
        return 141  # that of programs that SIGPIPE ends
    if options.traceback or error.filename is not None or standard_output.failure() is None:
        raise error
    standard_output.discard()
    return tell(options, f"standard output cannot be written: {error.strerror}", code=2)


def tell(options, text, code):
    """Prints a sentence to standard error; returns the code."""
    print(" ".join(filter(None, ["sparkdl", options.command])), text, sep=": ", file=sys.stderr)
    return code


def parser():
    """Returns the parser of the command line."""
    top = ArgumentParser(prog="sparkdl", description="Deep learning on Spark.")
    top.add_argument("--version", action="version", version=f"sparkdl {sparkdl.__version__}")
    commands = top.add_subparsers(title="commands", dest="command", required=True)
    adds = add_demo, add_train, add_evaluate, add_predict, add_features, add_summary, add_time
    for add in (*adds, add_report, add_simulate, add_convert, add_caffe, add_submit, add_doctor):
        add(commands)
    return top


def add_demo(commands):
    one = command(commands, "demo", "demo", "train LeNet on real digits, on this machine's Spark")
    one.add_argument("--epochs", type=int, default=3, help="passes over the data (3)")
    one.add_argument("--workers", type=int, default=2, help="replicas that train at once (2)")
    one.add_argument("--master", help="where Spark runs (a local-cluster of that many executors)")
    output(one, "folder for the model (sparkdl-demo-model)", default="sparkdl-demo-model")


def add_train(commands):
    one = command(commands, "train", "train", "train as a YAML file says")
    configuration(one)
    one.add_argument("--resume", metavar="PATH", help="a checkpoint, or a folder of them")
    what = "HTML file for the charts of the fit, updated while it runs"
    one.add_argument("--report", metavar="FILE", help=what)
    what = "local folder for a log of the fit, to be read by sparkdl report"
    one.add_argument("--log", metavar="FOLDER", help=what)
    what = "serve the charts of the fit on this port while it runs; 0: any free port"
    one.add_argument("--dashboard", type=int, metavar="PORT", help=what)


def add_report(commands):
    text = "write an HTML file that compares the charts of fits, from their logs"
    one = command(commands, "report", "report", text)
    one.add_argument(
        "folders", nargs="+", metavar="FOLDER", help="a log of sparkdl train --log or RunLog"
    )
    output(one, "HTML file to write (report.html)", default="report.html")
    one.add_argument("--title", help="title of the page (the folders' names)")


def add_evaluate(commands):
    one = command(commands, "evaluate", "inference", "evaluate a model on labelled data")
    model_and_data(one)


def add_predict(commands):
    one = command(
        commands, "predict", "inference", "write a model's prediction for each record, as Parquet"
    )
    model_and_data(one)
    output(one, "folder for the Parquet files", required=True)


def add_features(commands):
    one = command(
        commands,
        "features",
        "inference",
        "write the outputs of a model's layers for each record, as Parquet",
    )
    model_and_data(one)
    names = {"nargs": "+", "metavar": "NAME", "help": "names, such as dense_1"}
    one.add_argument("--layers", required=True, **names)
    output(one, "folder for the Parquet files", required=True)


def add_summary(commands):
    one = command(
        commands, "summary", "summary", "print the network of a run configuration as a table"
    )
    configuration(one)


def add_time(commands):
    one = command(
        commands, "time", "layer_times", "measure how long each layer takes in a training step"
    )
    configuration(one)
    one.add_argument(
        "--batch-size", type=int, metavar="N", help="examples per minibatch (as in the file)"
    )
    one.add_argument(
        "--iterations", type=int, default=10, metavar="K", help="repetitions, for medians (10)"
    )
    one.add_argument("--threads", type=int, metavar="T", help="threads to compute with (all cores)")


def add_simulate(commands):
    text = "estimate how long the masters' exchanges take on a cluster, from a short benchmark here"
    one = command(commands, "simulate", "simulate", text)
    one.add_argument("--workers", type=int, required=True, metavar="N", help="number of workers")
    one.add_argument(
        "--params", metavar="P", help="number of parameters, as 25e6 or 25M, instead of --conf"
    )
    configuration(
        one,
        "a run configuration (YAML); adds pipelines and divided layers of its network",
        required=False,
    )
    one.add_argument(
        "--bandwidth", metavar="B", help="bandwidth of a machine: 10Gb (bits), 1.2GB (bytes)"
    )
    one.add_argument(
        "--latency", default="0us", metavar="T", help="latency between machines: 50us (0)"
    )
    one.add_argument(
        "--compute", default="0ms", metavar="T", help="compute time of a minibatch: 120ms (0)"
    )
    one.add_argument("--every", type=int, default=5, metavar="K", help="minibatches per round (5)")
    machine = "workers per machine (1)"
    one.add_argument("--workers-per-machine", type=int, default=1, metavar="W", help=machine)
    one.add_argument("--cores", type=int, metavar="C", help="cores per machine (as here)")


def add_convert(commands):
    text = "convert the records of any source to an LMDB, Parquet or SequenceFiles"
    one = command(commands, "convert", "convert", text)
    one.add_argument("--data", required=True, help=DATA)
    formats = {"choices": ["LMDB", "Parquet", "SequenceFiles"], "default": "LMDB"}
    one.add_argument("--to", help="format to write (LMDB)", **formats)
    output(one, "new folder to write, local or a URI")
    one.add_argument(
        "--shape", metavar="C,H,W", help="shape of a record, if it is stored as a flat row"
    )
    one.add_argument("--mean", metavar="FILE", help="file for the mean image: .npy or .binaryproto")


def add_caffe(commands):
    text = (
        "train with a Caffe solver or use its model, with CaffeOnSpark's flags; time; device_query"
    )
    add_flags(command(commands, "caffe", "caffe.command", text))


def add_submit(commands):
    text = "print the spark-submit command that runs another command of sparkdl on a cluster"
    one = command(commands, "submit", "submit", text)
    one.add_argument("--master", help="yarn, spark://host:7077, k8s://https://host:6443")
    modes = {"choices": ["client", "cluster"], "help": "where the driver runs (client)"}
    one.add_argument("--deploy-mode", **modes)
    one.add_argument(
        "--properties", metavar="FILE", help="Spark properties file, such as conf/yarn.conf"
    )
    one.add_argument(
        "--archive", metavar="PATH", help="archive of build.py package, local or hdfs://"
    )
    zipped = "a zip of sparkdl instead, if executors have the required packages"
    one.add_argument("--py-files", metavar="PATH", help=zipped)
    along = (
        "files to send along; those named in the command are sent to a driver on the cluster anyway"
    )
    one.add_argument("--files", nargs="+", default=[], metavar="FILE", help=along)
    one.add_argument("--executors", type=int, metavar="N", help="number of executors")
    one.add_argument("--cores", type=int, metavar="C", help="cores per executor")
    one.add_argument("--memory", metavar="M", help="JVM memory per executor, as 2g")
    setting = "set a Spark option: spark.dynamicAllocation.enabled=true; may be repeated"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    one.add_argument("--run", action="store_true", help="also run the command")
    what = "the sparkdl command: -- train --conf conf/lenet.yaml"
    one.add_argument("what", nargs="+", metavar="COMMAND", help=what)
    one.set_defaults(understood=lambda what: parser().parse_args(what))


def add_doctor(commands):
    text = "check a cluster for what would keep it from training: versions, memory, ports, clocks"
    one = command(commands, "doctor", "doctor", text)
    one.add_argument("--master", default="local[*]", help="the cluster (local[*])")


def command(commands, name, module, text):
    """Adds a parser for one command, run by sparkdl.commands.<module>; returns it."""
    one = commands.add_parser(name, help=text, description=text)
    one.set_defaults(module=module)
    one.add_argument("--traceback", action="store_true", help="show the traceback of an error")
    return one


def configuration(one, text="a run configuration (YAML)", required=True):
    one.add_argument("--conf", required=required, metavar="FILE", help=text)
    setting = "set an option: training.averaging_frequency=10; may be repeated"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    one.other_options = options_of_a_run


def options_of_a_run():
    """Returns {"--epochs": "--set epochs=..."} of a run configuration."""
    from sparkdl.commands.options.run_conf import setting_paths

    return {option(name): f"--set {path}=..." for name, path in setting_paths().items()}


def option(name):
    """Returns "--batch-size" for "batch_size"."""
    return f"--{name.replace('_', '-')}"


def model_and_data(one):
    one.add_argument("--model", required=True, metavar="PATH", help="the folder of a saved model")
    one.add_argument("--data", required=True, help=DATA)
    one.add_argument("--master", default="local[*]", help="where Spark runs (local[*])")
    device = "where executors compute: cpu, cuda (a GPU) or auto, a GPU if there is one (auto)"
    one.add_argument("--device", default="auto", help=device)


def output(one, text, **options):
    one.add_argument("--output", metavar="PATH", help=text, **options)
