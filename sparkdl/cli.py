"""sparkdl on the command line: demo, train, evaluate, features, summary, time, caffe ..."""

import argparse
import importlib
import sys

import sparkdl
from sparkdl.commands.caffe.flags import add_flags
from sparkdl.errors import SparkdlError

DATA = """the data, by type and options as in a run configuration: Digits, or
"{type: Digits, part: test}", "{type: LMDB, path: digits_lmdb, scale: 0.00390625}",
"{type: Parquet, path: digits.parquet, features: pixels, label: digit}"
"""


def main(arguments=None):
    """Runs one command; returns the exit code: 2 for an error that one sentence explains."""
    options = parser().parse_args(arguments)
    module = importlib.import_module(f"sparkdl.commands.{options.module}")
    try:
        getattr(module, options.command)(options)
    except SparkdlError as error:
        if options.traceback:
            raise
        notes = [note for note in getattr(error, "__notes__", []) if "\n" not in note]
        print(f"sparkdl {options.command}: {'; '.join([str(error), *notes])}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def parser():
    """Returns the parser of the command line."""
    top = argparse.ArgumentParser(prog="sparkdl", description="Deep learning on Spark.")
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
    one.add_argument("--master", help="where; a local-cluster of as many executors unless given")
    output(one, "folder for the model (sparkdl-demo-model)", default="sparkdl-demo-model")


def add_train(commands):
    one = command(commands, "train", "train", "train as a YAML file says")
    configuration(one)
    one.add_argument("--resume", metavar="PATH", help="a checkpoint, or a folder of them")
    what = "an HTML file with the charts of the fit, which is written as it goes on"
    one.add_argument("--report", metavar="FILE", help=what)
    what = "a local folder for a log of the fit, which sparkdl report reads"
    one.add_argument("--log", metavar="FOLDER", help=what)
    what = "serve the charts of the fit on this machine while it goes on; 0: any free port"
    one.add_argument("--dashboard", type=int, metavar="PORT", help=what)


def add_report(commands):
    text = "write an HTML file with the charts of fits, side by side, from their logs"
    one = command(commands, "report", "report", text)
    one.add_argument("folders", nargs="+", metavar="FOLDER", help="of sparkdl train --log, RunLog")
    output(one, "an HTML file (report.html)", default="report.html")
    one.add_argument("--title", help="of the page; the folders' names")


def add_evaluate(commands):
    one = command(commands, "evaluate", "inference", "say how good a model is on labelled data")
    model_and_data(one)


def add_predict(commands):
    one = command(
        commands, "predict", "inference", "write what a model says of each record, as Parquet"
    )
    model_and_data(one)
    output(one, "folder for the Parquet files", required=True)


def add_features(commands):
    one = command(
        commands, "features", "inference", "write what layers of a model give, as Parquet"
    )
    model_and_data(one)
    one.add_argument("--layers", nargs="+", required=True, help="names, such as dense_1")
    output(one, "folder for the Parquet files", required=True)


def add_summary(commands):
    one = command(commands, "summary", "summary", "print the network of a YAML file as a table")
    configuration(one)


def add_time(commands):
    one = command(
        commands, "time", "layer_times", "say how long each layer takes to train a minibatch"
    )
    configuration(one)
    one.add_argument("--batch-size", type=int, metavar="N", help="examples; as the file says")
    one.add_argument("--iterations", type=int, default=10, metavar="K", help="medians over K (10)")
    one.add_argument("--threads", type=int, metavar="T", help="the cores that there are")


def add_simulate(commands):
    text = "say how long masters would take to exchange on a cluster, from a short run here"
    one = command(commands, "simulate", "simulate", text)
    one.add_argument("--workers", type=int, required=True, metavar="N", help="processes that train")
    one.add_argument("--params", metavar="P", help="of the network: 25e6, 25M; else --conf")
    configuration(one, "a run's YAML, whose network is also cut into stages", required=False)
    one.add_argument("--bandwidth", metavar="B", help="of a machine: 10Gb (bits), 1.2GB (bytes)")
    one.add_argument("--latency", default="0us", metavar="T", help="between machines: 50us (0)")
    one.add_argument("--compute", default="0ms", metavar="T", help="of a minibatch: 120ms (0)")
    one.add_argument("--every", type=int, default=5, metavar="K", help="minibatches a round (5)")
    machine = "workers that share a machine (1)"
    one.add_argument("--workers-per-machine", type=int, default=1, metavar="W", help=machine)
    one.add_argument("--cores", type=int, metavar="C", help="of a machine (as here)")


def add_convert(commands):
    text = "write the records of any source to an LMDB, Parquet or SequenceFiles"
    one = command(commands, "convert", "convert", text)
    one.add_argument("--data", required=True, help=DATA)
    one.add_argument("--to", choices=["LMDB", "Parquet", "SequenceFiles"], default="LMDB")
    output(one, "a new folder, local or a URI")
    one.add_argument("--shape", metavar="C,H,W", help="of a record, where storage knows rows only")
    one.add_argument("--mean", metavar="FILE", help="write the mean: .npy, .binaryproto")


def add_caffe(commands):
    text = "train and use a solver of Caffe's, with CaffeOnSpark's flags; time; device_query"
    add_flags(command(commands, "caffe", "caffe.command", text))


def add_submit(commands):
    text = "print the spark-submit command that runs another command of sparkdl on a cluster"
    one = command(commands, "submit", "submit", text)
    one.add_argument("--master", help="yarn, spark://host:7077, k8s://https://host:6443")
    modes = {"choices": ["client", "cluster"], "help": "where the driver runs (client)"}
    one.add_argument("--deploy-mode", **modes)
    one.add_argument("--properties", metavar="FILE", help="options of Spark, as conf/yarn.conf")
    one.add_argument("--archive", metavar="PATH", help="of build.py package; local or hdfs://")
    zipped = "a zip of sparkdl instead, where executors have the packages it needs"
    one.add_argument("--py-files", metavar="PATH", help=zipped)
    along = "files that go along with a driver on the cluster; those that the command names do"
    one.add_argument("--files", nargs="+", default=[], metavar="FILE", help=along)
    one.add_argument("--executors", type=int, metavar="N", help="processes on the cluster")
    one.add_argument("--cores", type=int, metavar="C", help="tasks at once in each")
    one.add_argument("--memory", metavar="M", help="of the JVM of each, as 2g")
    setting = "an option of Spark: spark.dynamicAllocation.enabled=true; may be repeated"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    one.add_argument("--run", action="store_true", help="run it too")
    what = "a command of sparkdl: -- train --conf conf/lenet.yaml"
    one.add_argument("what", nargs="+", metavar="COMMAND", help=what)
    one.set_defaults(understood=lambda what: parser().parse_args(what))


def add_doctor(commands):
    text = "say what keeps a cluster from training: versions, memory, ports, clocks"
    one = command(commands, "doctor", "doctor", text)
    one.add_argument("--master", default="local[*]", help="the cluster (local[*])")


def command(commands, name, module, text):
    """Returns a parser of one command, which sparkdl.commands.<module> carries out."""
    one = commands.add_parser(name, help=text, description=text)
    one.set_defaults(module=module)
    one.add_argument("--traceback", action="store_true", help="show where an error came from")
    return one


def configuration(one, text="a run configuration (YAML)", required=True):
    one.add_argument("--conf", required=required, metavar="FILE", help=text)
    setting = "change an option: training.averaging_frequency=10; may be repeated"
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)


def model_and_data(one):
    one.add_argument("--model", required=True, metavar="PATH", help="the folder of a saved model")
    one.add_argument("--data", required=True, help=DATA)
    one.add_argument("--master", default="local[*]", help="where Spark runs (local[*])")
    device = "where executors compute: cpu, cuda (a GPU), auto: a GPU where there is one (auto)"
    one.add_argument("--device", default="auto", help=device)


def output(one, text, **options):
    one.add_argument("--output", metavar="PATH", help=text, **options)
