"""A process that runs checks on request: one line of JSON in, one out.

Checks run in separate processes, as a failing one can leave its process's device unusable, which
`alive` detects. An optional argument names a module to use as the "cuda" backend.
"""

import json
import os
import sys
from dataclasses import asdict

from sparkdl.engine.backends import base
from tests.benchmarks.cpu.worker import say
from tests.benchmarks.gpu.absent import stand_in


def alive():
    """Returns whether the device still responds."""
    try:
        base.get("cuda").device.wait()
    except Exception:
        return False
    return True


def main(module=None):
    stand_in(present=True)
    from tests.benchmarks.gpu.correctness import tried  # a moment's work without those libraries

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if module is not None:
        base.MODULES["cuda"] = module
    say(answers, {"ready": True})
    for line in sys.stdin:
        say(answers, {"finding": asdict(tried(*json.loads(line))), "alive": alive()})


if __name__ == "__main__":
    main(*sys.argv[1:])
