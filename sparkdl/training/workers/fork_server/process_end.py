"""The end of a worker process: how its owner kills it, and says how it ended."""

import logging

log = logging.getLogger(__name__)
LIMIT = 30.0  # seconds for a process that is killed to end


def describe_end(process):
    """Returns the exit code of a process that has ended, in words."""
    text = f"exit code {process.exitcode}"
    if getattr(process._popen, "has_lost_server", False):
        return f"{text}, as the process that had forked it has ended"
    return text


def kill_process(process, name, cure=""):
    """Kills a process, whatever it does, and waits until it is gone, for at most LIMIT seconds.

    One that stays is stuck in a driver or a file system. It is logged by `name`, with the `cure`.
    """
    process.kill()
    process.join(LIMIT)
    if process.is_alive():
        log.warning("%s: has not ended %g s after it was killed%s", name, LIMIT, cure)
