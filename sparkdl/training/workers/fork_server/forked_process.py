"""The beginning of a forked process: it takes over what its owner has at that moment."""

import ctypes
import os
import signal
import sys
from multiprocessing import connection, forkserver, resource_tracker, spawn

from numpy import random

PARENT_DEATH_SIGNAL, NAME = 1, 15  # of prctl
_server = []  # the server that this process was forked from


def begin(server, outputs, files):
    """Runs the work that the owner of a server sends; returns the exit code.

    Parameters
    ----------
    server : int
        The process that this one was forked from.
    outputs : list of int
        Files of this process to replace by the owner's.
    files : list of int
        The work; of the resource tracker; the owner's outputs; those that the work needs.
    """
    _server.append(server)
    name_process("sparkdl-worker")
    end_with(server)
    work, resource_tracker._resource_tracker._fd, *others = files
    for output in outputs:
        own = others.pop(0)
        os.dup2(own, output)
        os.close(own)
    forkserver._forkserver._inherited_fds = others
    try:
        connection.Connection(os.dup(work), writable=False).recv().take()
    except EOFError:  # its owner has given up
        return 1
    random.seed()  # else each fork draws the same numbers
    return spawn._main(work, os.dup(work))


def is_forked():
    """Returns whether a server has forked this process, which then ends with its owner."""
    return bool(_server) and _server[0] == os.getppid()


def end_with(parent):
    """Makes this process die with its parent, however that ends; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # the parent has already ended
        os._exit(1)


def name_process(name):
    """Names this process, as `top` shows it."""
    ctypes.CDLL(None).prctl(NAME, name.encode())
