"""A Hadoop daemon: it logs to a file, reports when it is ready, and never outlives this process."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.cluster.jars import Unavailable
from tests.support.jvm import UNSHARED

LIMIT = 180.0  # seconds until a daemon is ready
# The kernel kills a daemon once the process that started it is gone, for whatever reason.
TIED = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 15); os.execv(sys.argv[1], sys.argv[1:])"
# A NodeManager starts a program for each file that it unpacks; vfork makes that 3 times faster.
QUICK_PROGRAMS = "-Djdk.lang.Process.launchMechanism=VFORK"
QUICK_COMPILER = ["-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-proc:none"]
LOGGING = """rootLogger.level = info
rootLogger.appenderRef.err.ref = err
appender.err.type = Console
appender.err.name = err
appender.err.target = SYSTEM_ERR
appender.err.layout.type = PatternLayout
appender.err.layout.pattern = %d %p %c{1}: %m%n
"""


class Daemon:
    """A daemon process.

    Parameters
    ----------
    java : Java
        Runs the process.
    name : str
        Names the daemon and its log in java.folder.
    main : str
        Java class.
    ready : str
        Text that appears in the log once the daemon serves.
    options : dict
        Hadoop settings of this daemon alone.
    """

    def __init__(self, java, name, main, ready, options):
        self.name, self.ready = name, ready
        self.log = java.folder / f"{name}.log"
        settings = [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        with open(self.log, "w") as log:
            self.process = java.start(main, *settings, stdout=log, stderr=log)

    def wait(self, limit=LIMIT):
        """Returns once the daemon serves."""
        deadline = time.monotonic() + limit
        while self.ready not in self.log.read_text(errors="replace"):
            ended = self.process.poll()
            if ended is not None or time.monotonic() > deadline:
                what = "is not ready" if ended is None else f"ended with {ended}"
                raise RuntimeError(f"{self.name} {what}; its log ends:\n{self.last_words()}")
            time.sleep(0.1)
        return self

    def last_words(self, count=3000):
        return self.log.read_text(errors="replace")[-count:]

    def end(self, by=signal.SIGKILL, patience=10.0):
        """Stops the daemon, by force if need be; does nothing if it has ended."""
        self.process.send_signal(by)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
            return
        self.process.kill()
        self.process.wait(patience)


class Java:
    """How the daemons of one cluster run: class path, settings, and folder for output.

    `host` is one of `tests.support.namespaces`, or None for this machine.
    """

    def __init__(self, folder, conf, jars, heap="200m"):
        self.folder, self.conf, self.home, self.host = folder, conf, java_home(), None
        (folder / "log4j2.properties").write_text(LOGGING)
        self.small = [f"{self.home}/bin/java", f"-Xmx{heap}", *UNSHARED.split(), "-Xss512k"]
        self.classes = ["-cp", f"{jars}{os.pathsep}{conf}"]
        self.command = [
            *self.small,
            QUICK_PROGRAMS,
            "-Djava.net.preferIPv4Stack=true",
            f"-Dhadoop.log.dir={folder}",
            f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
            *self.classes,
        ]

    def start(self, main, *arguments, **options):
        """Starts a class as a Popen that dies with this process; Ctrl-C does not reach it."""
        options = {
            "cwd": self.folder,
            "env": self.environment(),
            "start_new_session": True,
        } | options
        tied = [sys.executable, "-I", "-S", "-c", TIED]
        command = [*tied, *self.command, main, *map(str, arguments)]
        command = self.host.command(*command) if self.host else command
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, **options)

    def run(self, main, *arguments, limit=LIMIT):
        """Runs a class to its end and returns its output."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with self.start(main, *arguments, **pipes) as process:
            try:
                said, _ = process.communicate(timeout=limit)
            finally:
                process.kill()
        if process.returncode:
            raise RuntimeError(f"{main} {arguments} gave {process.returncode}:\n{said[-3000:]}")
        return said

    def compile(self, source):
        """Compiles a class to where the daemons find it; returns whether a compiler exists."""
        compiler = self.home / "bin" / "javac"
        if compiler.exists():
            command = [compiler, *QUICK_COMPILER, "-d", self.conf, *self.classes, source]
            subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
        return compiler.exists()

    def write_program(self, path, main):
        """Writes a program like `hdfs dfs`; its first argument, a command group, is ignored."""
        java = shlex.join([*self.small, *self.classes, main])
        path.write_text(f'#!/bin/sh\nshift\nexec {java} "$@"\n')
        path.chmod(0o755)

    def environment(self):
        own = {"JAVA_HOME": str(self.home), "HADOOP_CONF_DIR": str(self.conf)}
        return {key: value for key, value in os.environ.items() if key != "HADOOP_HOME"} | own


def java_home():
    """The folder of the JDK, which YARN's containers need."""
    home, java = os.environ.get("JAVA_HOME"), shutil.which("java")
    if not sys.platform.startswith("linux"):
        raise Unavailable(f"Hadoop's daemons are run on Linux here, this is {sys.platform}")
    if not (home or java):
        raise Unavailable("Hadoop's daemons need Java 17 or newer, found none; install a JDK")
    return Path(home) if home else Path(java).resolve().parent.parent
