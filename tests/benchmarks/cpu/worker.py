"""The inside of a process that is timed: it makes a step, then runs it as often as it is asked.

It reads a number of steps a line and answers with a line of JSON. What libraries print goes to
stderr.
"""

import json
import os
import resource
import sys
import time


def serve(make):
    """Answer until the input ends.

    Parameters
    ----------
    make : function
        Without arguments, called once everything is imported: (step, facts). `step` returns once it
        is done; `facts` are said before the first answer.
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
    """Bytes of memory at the highest point of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
