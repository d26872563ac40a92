"""Check of the data that a command reads, for a driver on the cluster."""

from contextlib import suppress
from pathlib import PurePosixPath

from sparkdl.commands.driver_inputs import is_of_this_machine
from sparkdl.commands.driver_outputs import MOUNTED, is_absolute, run_options
from sparkdl.commands.options.data_argument import parse_data
from sparkdl.data import Source, files
from sparkdl.data.transforms import MeanImage
from sparkdl.errors import ConfigError, SparkdlError

LISTS = ("spark.files", "spark.archives", "spark.yarn.dist.files", "spark.yarn.dist.archives")


def check_data(options, sent=()):
    """Returns notes on local data that a parsed command reads; it is not sent along.

    Parameters
    ----------
    options : Namespace
    sent : collection of str
        Names of what Spark places in the folder of each container.

    Raises
    ------
    ConfigError
        If the path of such data is relative, that is, in the folder of the container.
    """
    notes = []
    for name, path, is_of_executors in paths_of(options):
        if not is_here(path):
            continue
        if is_absolute(path):
            notes.append(f"{name} {path} is not sent along: machines must mount it")
        elif PurePosixPath(path).parts[0] not in sent:
            raise ConfigError(
                f"{name} must be at a path that all machines reach, such as hdfs:///..., got the "
                f"local path {path!r}, which is not sent along; {cure(path, is_of_executors)}"
            )
        elif is_of_executors:
            notes.append(
                f"{name} {path} is read from the driver's container, so executors must run on its "
                "machine; hdfs:///... is read on all"
            )
    return notes


def cure(path, is_of_executors):
    """Returns what to do about a relative path."""
    is_name = path == PurePosixPath(path).name and not files.is_directory(path)
    can_be_sent = is_name and not is_of_executors
    return (
        f"copy it there, or {f'send it with --files {path}' if can_be_sent else f'give {MOUNTED}'}"
    )


def is_here(path):
    """Returns whether a path is one of this machine only, and exists."""
    return is_of_this_machine(path) and files.exists(path)


def paths_of(options):
    """Yields (option, path, whether executors read it by the driver's absolute path)."""
    for name, source in sources_of(options):
        for path in source.paths:
            yield name, path, options.command != "convert"
        for transform in getattr(source.transform, "transforms", (source.transform,)):
            if isinstance(transform, MeanImage) and transform.path:
                yield f"{name}.transforms", transform.path, False


def sources_of(options):
    """Yields (option, Source) of the data that a command reads.

    What cannot be read here is left out: the driver refuses it, or has the rest of a run's file.
    """
    if options.command == "train":
        data = run_options(options).get("data")
        for name, written in data.items() if isinstance(data, dict) else ():
            with suppress(SparkdlError, TypeError):
                yield f"data.{name}", Source.from_dict(written)
    elif getattr(options, "data", None) is not None:
        yield "--data", parse_data(options.data)


def names_sent(given, known):
    """Returns the names that --files and Spark's settings have in the folder of a container."""
    lists = *given, *(known.get(key, "") for key in LISTS)
    listed = [part for value in lists for part in value.split(",")]
    return {part.rpartition("#")[2] if "#" in part else PurePosixPath(part).name for part in listed}
