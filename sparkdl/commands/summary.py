"""sparkdl summary: table of a run configuration's network."""

from sparkdl.commands.options.run_conf import RunConf


def summary(arguments):
    """Prints layers, shapes, parameters and memory; starts nothing."""
    conf = RunConf.read(arguments.conf, arguments.set)
    print(conf.network.summary(conf.training.batch_size_per_worker))
