"""Exit of a process blocked in an NCCL call, which cannot be cancelled."""

import logging
import os
import threading

log = logging.getLogger(__name__)

GRACE = 10.0  # seconds left to report an error before the exit
STUCK = 70  # exit status


def end_soon(why):
    """Ends this process after GRACE seconds, unless the returned timer is cancelled.

    Returns
    -------
    threading.Timer
    """
    timer = threading.Timer(GRACE, end_process, (why,))
    timer.daemon = True
    timer.start()
    return timer


def end_process(why):
    log.critical("%s", why)
    logging.shutdown()
    os._exit(STUCK)
