"""Ends a process that a call of NCCL blocks: such calls can hang with nothing to cancel them."""

import logging
import os
import threading

log = logging.getLogger(__name__)

GRACE = 10.0  # seconds in which an error is reported first
STUCK = 70  # exit status


def end_soon(why):
    """Ends this process in GRACE seconds, whatever it does, unless what comes back is cancelled.

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
