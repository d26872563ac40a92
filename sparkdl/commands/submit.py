"""sparkdl submit: the spark-submit command that runs another sparkdl command on a cluster."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from sparkdl.commands.driver_data import check_data, names_sent
from sparkdl.commands.driver_inputs import check_folders, check_names, pack_local_files
from sparkdl.commands.driver_outputs import check_outputs
from sparkdl.commands.kerberos_ticket import check_ticket
from sparkdl.commands.options.run_conf import decode_utf8
from sparkdl.data import files
from sparkdl.errors import ConfigError
from sparkdl.spark.daemon_search import DAEMON, MODULE
from sparkdl.spark.properties_file import parse_properties
from sparkdl.spark.standalone_master import SCHEME

FOLDER = "environment"  # folder of the unpacked archive, in the working directory
ENTRY = Path(__file__).resolve().parents[1] / "__main__.py"
KEYS = {
    "master": "spark.master",
    "deploy_mode": "spark.submit.deployMode",
    "archive": "spark.archives",
    "py_files": "spark.submit.pyFiles",
    "executors": "spark.executor.instances",
    "cores": "spark.executor.cores",
    "memory": "spark.executor.memory",
}  # options of this command, and the settings of Spark that they are
MADE = "sparkdl-*-env.tar.gz"  # in dist, created by build.py package


def submit(arguments):
    """Prints the spark-submit command; with --run, runs it and exits with its code."""
    options = arguments.understood(arguments.what)
    known, notes = known_settings(arguments), []
    if deploy_mode(arguments) == "cluster":
        notes += check_outputs(options) + check_folders(options)
        notes += check_data(options, names_sent(arguments.files, known))
    notes += check_ticket(arguments.master or known.get("spark.master"), known)
    for note in notes:
        print(f"sparkdl submit: {note}", file=sys.stderr, flush=True)
    command = submit_command(arguments)
    print(format_command(command), flush=True)
    if arguments.run:
        code = subprocess.call([program(), *command[1:]])
        if code:
            raise SystemExit(code)


def submit_command(arguments):
    """Returns the spark-submit command as a list of arguments.

    Raises
    ------
    ConfigError
        If the master, the archive or a file is missing.
    """
    check_given(arguments)
    known = known_settings(arguments)
    master = arguments.master or known.get("spark.master")
    if not master:
        raise ConfigError("a master is missing; give --master, or spark.master in --properties")
    mode = deploy_mode(arguments)
    what, sent = arguments.what, arguments.files
    if mode == "cluster":
        what, sent = pack_local_files(what, sent)
    check_names(sent)
    options = {"--master": master, "--deploy-mode": mode}
    if arguments.properties:
        options["--properties-file"] = properties_path(arguments.properties)
    options |= environment(arguments, known)
    if sent:
        options["--files"] = ",".join(sent)
    conf = (
        executors(arguments, master, known) | python(mode, options, known) | settings(arguments.set)
    )
    defaults = ["--load-spark-defaults"] if arguments.properties else []
    given = [part for option in options.items() for part in option]
    given += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    return ["spark-submit", *defaults, *given, entry(), *what]


def check_given(arguments):
    """Raises ConfigError for options that contradict each other, and for sizes below one."""
    given = settings(arguments.set)
    for name, key in KEYS.items():
        value = getattr(arguments, name)
        if value is not None and given.get(key, str(value)) != str(value):
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(
                f"--set {key} must be left out with {option}, got {given[key]!r} and {value!r}"
            )
    for name in ("executors", "cores"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} must be an integer >= 1, got {value}")
    if arguments.archive and arguments.py_files:
        raise ConfigError(
            f"--archive must be left out with --py-files, got {arguments.archive!r}: executors "
            "take their packages from one of the two"
        )


def deploy_mode(arguments):
    """Returns "client" or "cluster": where the driver runs."""
    known = known_settings(arguments)
    mode = arguments.deploy_mode or known.get("spark.submit.deployMode", "client")
    master = arguments.master or known.get("spark.master", "")
    if mode == "cluster" and master.startswith(SCHEME):
        raise ConfigError(
            f"--deploy-mode must be client with a standalone master, got cluster and {master}: "
            "there Spark runs a Python driver only on the machine that submits it; give "
            "--deploy-mode client"
        )
    return mode


def known_settings(arguments):
    """Returns {key: value} from --properties and --set."""
    return properties(arguments.properties) | settings(arguments.set)


def environment(arguments, known):
    """Returns the option that provides executors with packages; {} if the settings do."""
    check_names([*filter(None, (arguments.py_files, arguments.archive))])
    if arguments.py_files:
        return {"--py-files": existing(arguments.py_files)}
    if arguments.archive:
        return {"--archives": f"{existing(arguments.archive)}#{FOLDER}"}
    if "spark.archives" in known:
        return {}
    archives = list(Path("dist").glob(MADE))
    if len(archives) != 1:
        raise ConfigError(
            f"dist must hold one environment, {MADE}, got {len(archives)}; python build.py package "
            "makes it, --archive names another, --py-files the zip of sparkdl where packages are "
            "installed"
        )
    return {"--archives": f"{archives[0]}#{FOLDER}"}


def python(mode, options, known):
    """Returns settings for the archive's Python on executors, and for a driver on the cluster."""
    if "--archives" not in options and "spark.archives" not in known:
        return {}
    driver_python = {"spark.pyspark.driver.python": sys.executable} if mode == "client" else {}
    comes_late = "--py-files" in options or "spark.submit.pyFiles" in known
    daemon = {} if comes_late or DAEMON in known else {DAEMON: MODULE}
    return {"spark.pyspark.python": f"./{FOLDER}/bin/python"} | daemon | driver_python


def executors(arguments, master, known):
    """Returns the settings for the number and size of executors."""
    count, key = arguments.executors, "spark.executor.instances"
    if count is not None and master.startswith(SCHEME):  # it cannot set their number
        cores = arguments.cores or known.get("spark.executor.cores")
        if cores is None:
            raise ConfigError(
                f"--cores must be given with --executors and a standalone master, got {count} "
                "executors: without --cores an executor takes all cores of its machine; give "
                "--cores, the cores of each executor"
            )
        if not (str(cores).isdecimal() and int(cores)):
            raise ConfigError(
                f"spark.executor.cores must be a positive integer, got {cores!r}; give --cores, "
                "the cores of each executor"
            )
        count, key = count * int(cores), "spark.cores.max"
        given = settings(arguments.set).get(key, str(count))
        if given != str(count):
            raise ConfigError(
                f"--set {key} must be left out with --executors and a standalone master, got "
                f"{given!r} and {arguments.executors} executors with {cores} cores each"
            )
    wanted = {
        key: count,
        "spark.executor.cores": arguments.cores,
        "spark.executor.memory": arguments.memory,
    }
    return {key: str(value) for key, value in wanted.items() if value is not None}


def properties(path):
    """Reads {key: value} from a local properties file of Spark."""
    if path is None:
        return {}
    content = files.read(properties_path(path))
    try:
        return parse_properties(decode_utf8(content))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def properties_path(path):
    """Returns the local path of a properties file for spark-submit, which takes no URI."""
    local = files.local_path(existing(path), "spark-submit, which reads it")
    return local if str(path).lower().startswith("file:") else path


def settings(given):
    """Parses --set into {key: value}."""
    for each in given:
        if "=" not in each:
            raise ConfigError(f"--set must be KEY=VALUE, got {each!r}")
    return dict(each.split("=", 1) for each in given)


def existing(path):
    """Returns `path`; raises ConfigError if it is local and not a file."""
    if files.is_local(path) and not Path(files.absolute(path)).is_file():
        raise ConfigError(f"{path}: there is no such file")
    return path


def entry():
    """Returns the path of the script for spark-submit, relative if it is below this folder."""
    relative = os.path.relpath(ENTRY)
    return str(ENTRY) if relative.startswith("..") else relative


def program():
    """Returns the path of spark-submit: that on the PATH, else pyspark's."""
    executable = shutil.which("spark-submit") or shutil.which(
        Path(sys.executable).parent / "spark-submit"
    )
    if executable is None:
        raise ConfigError("spark-submit must be on the PATH to be run, found none")
    return executable


def format_command(command):
    """Formats the command for a shell, one option per line."""
    lines, parts = [], list(map(shlex.quote, command))
    while parts and (parts[0].startswith("--") or not lines):
        count = 1 if not lines or parts[0] == "--load-spark-defaults" else 2
        lines.append(" ".join(parts[:count]))
        parts = parts[count:]
    return " \\\n  ".join([*lines, " ".join(parts)])
