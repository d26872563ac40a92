"""Exit of a process blocked in an NCCL call, which cannot be cancelled."""

import logging
import os
import threading

from sparkdl.thread_start import NoThread, start_thread

log = logging.getLogger(__name__)

GRACE = 10.0  # seconds left to report an error before the exit
STUCK = 70  # exit status


def end_soon(why):
    """Ends this process after GRACE seconds, unless the returned timer is cancelled.

    Without a thread for the timer, what follows has no time limit; this is logged.

    Returns
    -------
    threading.Timer
    """
    timer = threading.Timer(GRACE, end_process, (why,))
    timer.daemon = True
    try:
        start_thread(timer)
    except NoThread as error:
        log.warning("this process may hang: %s", error)
    return timer


def end_process(why):
    log.critical("%s", why)
    logging.shutdown()
    os._exit(STUCK)
