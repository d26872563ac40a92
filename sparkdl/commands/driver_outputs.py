"""Check of output paths for a driver on the cluster, whose container's files vanish with it."""

import re
from pathlib import PurePosixPath

from sparkdl.commands.options.settings import apply
from sparkdl.config import text
from sparkdl.data import files
from sparkdl.errors import ConfigError

SCHEME = re.compile(r"(file|local):(//(localhost)?(?=/))?", re.IGNORECASE)
LASTING = "hdfs:///..."
MOUNTED = "an absolute path that all machines mount"


def check_outputs(options):
    """Returns notes on outputs of a parsed command that go to a machine's own disk.

    Raises
    ------
    ConfigError
        If an output is a relative local path, that is, a file in the driver's container.
    """
    notes = []
    for name, path, lasting in outputs(options):
        if not (isinstance(path, str) and files.is_local(path)):
            continue
        if not is_absolute(path):
            such = f", such as {LASTING}" if lasting == LASTING else ""
            change = f"--set {name}={lasting}" if name[0] != "-" else f"{name} {lasting}"
            cure = change if lasting == LASTING else f"give {lasting}"
            raise ConfigError(
                f"{name} must be a path that outlives the driver's container{such}, got {path!r}; "
                f"{cure}, or --deploy-mode client"
            )
        files.local_path(path)  # raises DataError for a malformed local URI
        notes.append(f"{name} {path} is lost with the driver's container, unless machines mount it")
    return notes


def is_absolute(path):
    """Returns whether a local path, or the path in a local URI, is absolute."""
    return PurePosixPath(SCHEME.sub("", path, count=1)).is_absolute()


def outputs(options):
    """Yields (option, path or None, suggested replacement) for each output of a command."""
    given = vars(options)
    if options.command == "train":
        run = run_options(options)
        yield "output", run.get("output"), LASTING
        checkpoints = run.get("checkpoints")
        if isinstance(checkpoints, dict):
            yield "checkpoints.path", checkpoints.get("path"), LASTING
    if options.command == "caffe":
        modes = given.get("modes", [])
        yield "-model", given["model"] if "train" in modes else None, LASTING
        is_used = set(modes) - {"train"}
        yield "-output", given["output"] or ("output" if is_used else None), LASTING
        return
    for name in ("output", "mean"):
        yield f"--{name}", given.get(name), LASTING if options.command != "report" else MOUNTED
    for name in ("report", "log"):  # local in both modes
        yield f"--{name}", given.get(name), MOUNTED


def run_options(options):
    """Returns the options of a command's run; only those of --set if its file is not readable.

    The file may exist only in the driver's container, or on a file system that only the cluster
    reaches.
    """
    try:
        with files.open(options.conf) as file:
            content = file.read()
    except Exception:  # also of libraries that need an account or are not installed
        run = {}
    else:
        run = text.from_yaml(content.decode(errors="replace"))
    for setting in options.set:
        apply(run, setting)
    return run
