"""sparkdl evaluate, predict, features: uses of a saved model."""

from contextlib import contextmanager, suppress

from sparkdl.commands.options.data_argument import parse_data
from sparkdl.data import files
from sparkdl.errors import ConfigError, DataError
from sparkdl.spark import SparkNetwork
from sparkdl.spark.inference.predictions import check_layers, layer_parts, prediction_parts
from sparkdl.spark.jobs.job import job
from sparkdl.spark.records.data_frames import uri
from sparkdl.spark.records.source_frame import as_frame
from sparkdl.spark.session import session
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.reporting.reports import format_devices


def evaluate(arguments):
    """Prints the evaluation of a model on labelled data."""
    with open_use(arguments) as (_, net, data):
        print(net.evaluate(data), format_devices("tasks", net.devices), sep="\n\n")


def predict(arguments):
    """Writes a model's predictions for each record as Parquet files."""
    write(arguments, prediction_parts)


def features(arguments):
    """Writes the outputs of layers for each record as Parquet files."""
    write(arguments, lambda conf: layer_parts(check_layers(conf, arguments.layers)))


def write(arguments, parts_of):
    """Writes records without their features, with columns of a network, to `arguments.output`.

    `parts_of` is a function of the conf, such as `prediction_parts`.
    """
    files.check_free(arguments.output, ConfigError)
    files.check_parents(arguments.output)
    with open_use(arguments, parts_of) as (spark, net, data):
        source = as_frame(spark, data, net.conf)
        kept = [name for name in source.fields.names if name != source.column]
        new, compute, layers = parts_of(net.conf)
        # A source has its own transform, as in `evaluate`: the network's is of DataFrames and RDDs.
        parts = source.column, net.transform_for(data, None), new, compute
        function = net.column_function(source.fields, *parts, keep=kept, layers=layers)
        with (
            remove_empty(arguments.output),
            job(spark.sparkContext, arguments.command, "the job"),
        ):
            source.map(*function).write.parquet(uri(arguments.output))
    lines = format_devices("tasks", net.devices), f"wrote {arguments.output}"
    print(*filter(None, lines), sep="\n")


@contextmanager
def remove_empty(path):
    """Removes the empty folder that Spark leaves after an error in the block."""
    try:
        yield
    except BaseException:
        with suppress(DataError):
            if files.is_directory(path) and not files.list(path):
                files.remove(path)
        raise


@contextmanager
def open_use(arguments, parts_of=None):
    """Yields (Spark session, network, data), after checking the arguments.

    `parts_of` raises an error if the network has not what is to be written.
    """
    master = ParameterAveraging(device=arguments.device)
    data = parse_data(arguments.data)
    data.check()
    network = Network.load(arguments.model)
    if parts_of is not None:
        parts_of(network.conf)
    with session(arguments.master, name=f"sparkdl {arguments.command}") as spark:
        yield spark, SparkNetwork(spark, network, master), data
