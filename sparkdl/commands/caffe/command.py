"""sparkdl caffe: the modes of CaffeOnSpark, and two of Caffe's own tools."""

import sys

from sparkdl.commands.caffe import training, use
from sparkdl.commands.caffe.devices import device_query
from sparkdl.commands.caffe.options import check_known, check_values, options_of
from sparkdl.commands.caffe.timing import time
from sparkdl.data import LMDB, files
from sparkdl.errors import ConfigError
from sparkdl.spark.session import session


def caffe(arguments):
    """Runs a mode or a tool according to the flags."""
    if arguments.tool is None:
        return run(options_of(arguments), arguments.master)
    if arguments.tool == "device_query":
        arguments.gpu = None  # required by Caffe, ignored here: all devices are shown
    check_known(arguments)
    check_values(arguments)
    if modes := getattr(arguments, "modes", []):
        raise ConfigError(
            f"-{modes[0]} must be left out with {arguments.tool}, which neither trains nor tests"
        )
    {"time": time, "device_query": device_query}[arguments.tool](arguments)


def run(options, master):
    """Runs the requested modes; checks all files before it starts Spark."""
    for note in options.notes:
        tell(note)
    trained = training.prepare_training(options) if options.train else None
    used = use.prepare_use(options, tell) if options.use else None
    sources = [*([trained.data] if trained else []), *(used.sources if used else [])]
    for note in partitions(options.lmdb_partitions, sources):
        tell(note)
    with session(master or own_master(options), name="sparkdl caffe") as spark:
        for note in places(spark.sparkContext.master, options):
            tell(note)
        network = trained.run(spark, tell) if trained else None
        if used is not None:
            used.run(spark, network)


def places(master, options):
    """Yields notes on output paths that are local to a machine."""
    output = options.output if options.use else options.validations
    written = {"model": options.train and options.model, "output": output}
    for name, path in written.items():
        if path and files.is_local(path) and not master.startswith("local"):
            yield f"-{name} {path} is on each machine's own disk unless it is shared; use hdfs://"


def partitions(count, sources):
    """Yields a note if a number of partitions is given and no source is an LMDB."""
    if count is not None and not any(isinstance(source, LMDB) for source in sources):
        kinds = ", ".join(dict.fromkeys(type(source).__name__ for source in sources))
        yield f"-lmdb_partitions {count} has no effect on {kinds}; only an LMDB is divided by it"


def own_master(options):
    """Returns the master URL for a local-cluster on this machine."""
    return f"local-cluster[{options.cluster_size or 1},{options.devices},1024]"


def tell(note):
    """Prints a message to standard error, apart from the results."""
    print(f"sparkdl caffe: {note}", file=sys.stderr, flush=True)
