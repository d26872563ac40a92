"""Files and folders that a command reads, for a driver on the cluster."""

import os
import re
from operator import add

from sparkdl.commands.driver_outputs import is_absolute
from sparkdl.data import files
from sparkdl.errors import ConfigError

OPTION = re.compile(r"-[\w-]+=")  # of --conf=FILE
ON_ALL_MACHINES = "local:"  # Spark's scheme for files that each machine has already
SPECIAL = frozenset(",#%*?[]{}\\")  # of --files: separates, renames, escapes or is a pattern


def check_folders(options):
    """Returns notes on local folders that a parsed command reads.

    Raises
    ------
    ConfigError
        If the path of such a folder is relative: only files are sent along.
    """
    notes, given = [], {} if options.command == "caffe" else vars(options)  # it reads only files
    named = [(f"--{name}", given.get(name)) for name in ("model", "resume")]
    named += [("FOLDER", path) for path in given.get("folders", ())]
    for name, path in named:
        if not (path and files.is_local(path) and files.is_directory(path)):
            continue
        if is_absolute(path):
            notes.append(f"{name} {path} is not sent along: machines must mount it")
            continue
        raise ConfigError(
            f"{name} must be a path that the driver's container reaches, such as hdfs:///..., got "
            f"the local folder {path!r}; copy it there, or --deploy-mode client"
        )
    return notes


def pack_local_files(what, given=()):
    """Returns (arguments, files) for a driver on the cluster: local files are sent along by name.

    Parameters
    ----------
    what : list of str
        The command.
    given : sequence of str
        Values of --files.
    """
    words = [OPTION.match(each) for each in what]
    values = [each[match.end() :] if match else each for each, match in zip(what, words)]
    starts = [match[0] if match else "" for match in words]
    parts = [split_files(each) for each in values]
    sent = list(dict.fromkeys([*given, *(path for part in parts for path in part)]))
    short = [
        ",".join(map(name_of, part)) if part else each
        for each, part in zip(values, parts, strict=True)
    ]
    return list(map(add, starts, short)), sent


def split_files(value):
    """Returns the paths of the local files in a value, one or several as a,b; [] if it has none."""
    if is_file(value):
        return [value]
    parts = value.split(",")
    return parts if all(map(is_file, parts)) else []


def is_file(path):
    """Returns whether a word is the path of a file of this machine only."""
    return is_of_this_machine(path) and os.path.isfile(files.absolute(path))


def is_of_this_machine(path):
    """Returns whether a path is local, and not one that each machine has."""
    return files.is_local(path) and not path.lower().startswith(ON_ALL_MACHINES)


def name_of(path):
    return os.path.basename(files.absolute(path))


def check_names(paths):
    """Raises ConfigError if files sent along have one name, or --files would not send one whole."""
    local = [path for path in paths if is_file(path)]
    for path in local:
        if not SPECIAL.isdisjoint(path):
            raise ConfigError(
                f"files sent along need paths without {' '.join(sorted(SPECIAL))}, which mean "
                f"something to Spark, got {path!r}; rename it"
            )
    known = {}
    for path in local:
        known.setdefault(name_of(path), set()).add(files.absolute(path))
    twice = sorted(name for name, places in known.items() if len(places) > 1)
    if twice:
        raise ConfigError(f"files sent along need different names, got {twice} twice")
