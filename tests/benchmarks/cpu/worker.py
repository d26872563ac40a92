"""Main loop of a timed process: it makes a step, then runs it as often as requested.

It reads a number of steps per line and answers each with a line of JSON. Output of libraries goes
to stderr.
"""

import json
import os
import resource
import sys
import time


def serve(make):
    """Answers requests until the input ends.

    Parameters
    ----------
    make : function
        Called without arguments after all imports; returns (step, facts). `step` blocks until it is
        done; `facts` are sent before the first answer.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    imported = time.time()
    step, facts = make()
    step()
    first = time.time()
    step()
    say(answers, facts | {"imported": imported, "first": first})
    for line in sys.stdin:
        seconds = [timed(step) for _ in range(int(line))]
        say(answers, {"seconds": seconds, "resident": resident()})


def say(answers, facts):
    print(json.dumps(facts), file=answers, flush=True)


def timed(step):
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


def resident():
    """Returns this process's peak memory in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
