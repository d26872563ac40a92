"""sparkdl summary: the network of a run configuration, as a table."""

from sparkdl.commands.options.run_conf import RunConf


def summary(arguments):
    """Prints layers, shapes, parameters and memory; nothing is started."""
    conf = RunConf.read(arguments.conf, arguments.set)
    print(conf.network.summary(conf.training.batch_size_per_worker))
