"""Two hosts on this machine: Linux namespaces, joined by a pair of virtual Ethernet devices.

Each has its own addresses, processes, host name and shared memory; they share files. When the
process that made them ends, for whatever reason, everything on them ends too.
"""

import os
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

KINDS = ("--net", "--mount", "--uts", "--ipc", "--pid")
DEVICE, LIMIT = "eth0", 30.0  # seconds for a command that sets something up
ADDRESSES = {"left": ("10.213.7.1", "fd5d::1"), "right": ("10.213.7.2", "fd5d::2")}
# /proc shows the host's own processes; shared memory is its own too.
LIFE = 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && echo up && read end'


@dataclass(frozen=True)
class Host:
    """A host: the namespaces of process `holder`."""

    name: str
    holder: int
    address: str
    address6: str

    def command(self, *arguments):
        """Returns the command that, started on the machine, runs `arguments` on the host."""
        return ["nsenter", f"--target={self.holder}", *KINDS, *map(str, arguments)]

    def start(self, *arguments, **options):
        """Starts a program; returns its Popen. `kill` ends it."""
        return subprocess.Popen(self.command(*arguments), **options)

    def run(self, *arguments, check=True, timeout=LIMIT, **options):
        """Runs a short program; returns its CompletedProcess, with text output."""
        options = {"capture_output": True, "text": True} | options
        return subprocess.run(self.command(*arguments), check=check, timeout=timeout, **options)

    def processes(self):
        """Returns {machine's process number: command} of all processes except the holder."""
        own = os.readlink(f"/proc/{self.holder}/ns/pid")
        found = (int(name) for name in os.listdir("/proc") if name.isdigit())
        there = (pid for pid in found if pid != self.holder and namespace_of(pid) == own)
        return {pid: command for pid in there if (command := command_of(pid))}

    def limit(self, rate):
        """Limits the host's outgoing rate, such as "1gbit"; None: unlimited."""
        if rate is None:
            self.run("tc", "qdisc", "del", "dev", DEVICE, "root", check=False)
        else:
            shape = ("tbf", "rate", rate, "burst", "128kb", "latency", "100ms")
            self.run("tc", "qdisc", "replace", "dev", DEVICE, "root", *shape)

    def cut(self):
        """Drops all traffic in both directions, without notice to either side."""
        self.run("ip", "link", "set", DEVICE, "down")

    def mend(self):
        self.run("ip", "link", "set", DEVICE, "up")
        address(self)  # one of IPv6 goes with the link


@contextmanager
def two_hosts(rate=None):
    """Yields (left, right), linked at up to `rate` each way; removes them at the block's end."""
    with ExitStack() as stack:
        left, right = (stack.enter_context(host(name)) for name in ADDRESSES)
        pair = ("type", "veth", "peer", "name", DEVICE, "netns", str(right.holder))
        link = ["nsenter", f"--target={left.holder}", "--net", "ip", "link", "add", DEVICE, *pair]
        subprocess.run(link, check=True, capture_output=True, timeout=LIMIT)
        for each in (left, right):
            each.run("ip", "addr", "add", f"{each.address}/30", "dev", DEVICE)
            each.mend()
            each.limit(rate)
        yield left, right


@cache  # several files ask as they are collected
def why_not():
    """Returns why hosts cannot be made here, or None if they can."""
    try:
        with two_hosts("1gbit") as (left, _):
            left.run("true")
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or ""
        return f"namespaces cannot be made here: {error} {said}".strip()
    return None


@contextmanager
def host(name):
    """Yields a Host without a link."""
    quit = ("--kill-child", "--fork", "--mount-proc")
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = ["unshare", *KINDS, *quit, "sh", "-c", LIFE, name]
    with subprocess.Popen(program, text=True, **options) as process:
        try:
            if process.stdout.readline() != "up\n":  # at the end of a life there is an empty line
                said = process.stderr.read()
                raise subprocess.CalledProcessError(process.wait(LIMIT), program, stderr=said)
            [child] = children(process.pid)
            yield Host(name, child, *ADDRESSES[name])
        finally:
            process.kill()  # the child goes with it, and with the child all that runs in there


def address(host):
    """Gives the host its IPv6 address, usable at once."""
    add = ("ip", "-6", "addr", "replace", f"{host.address6}/64", "dev", DEVICE, "nodad")
    host.run(*add)


def kill(process, patience=60.0):
    """Kills a program that `start` started, and all its descendants."""
    for pid in stopped(process.pid):
        signalled(pid, signal.SIGKILL)
    process.wait(patience)


def stopped(pid):
    """Suspends a process and its descendants; returns their numbers, the deepest first."""
    signalled(pid, signal.SIGSTOP)
    return [*(below for child in children(pid) for below in stopped(child)), pid]


def signalled(pid, what):
    with suppress(ProcessLookupError):
        os.kill(pid, what)


def children(pid):
    """Returns the children of a process, from all of its threads."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found += map(int, file.read_text().split())
    return found


def namespace_of(pid):
    with suppress(OSError):  # it has ended, or is not ours
        return os.readlink(f"/proc/{pid}/ns/pid")


def command_of(pid):
    """Returns the command line of a process, joined by spaces; None if it has ended."""
    with suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
        return file.read().replace("\0", " ").strip()


def gone(host, patience=60.0):
    """Waits up to `patience` seconds; returns whether no process is left on the host."""
    deadline = time.monotonic() + patience
    while host.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not host.processes()
