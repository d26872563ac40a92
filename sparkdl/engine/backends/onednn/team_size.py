"""Calls that run on one thread, and switching the number of threads between them.

team_plan.py chooses which calls do.
"""

from functools import partial

from sparkdl.engine.native.threads import pool


class OneThread:
    """A call whose primitives were created for one thread and which runs on one.

    oneDNN plans a primitive for the number of threads at its creation; on more threads it may use
    memory that it does not have.
    """

    def __init__(self, call, team):
        self.call, self.team = call, team

    def __call__(self):
        with self.team.alone():
            self.call()


def in_sequence(calls):
    """Returns the calls of a program, where adjacent single-threaded ones switch only once."""
    one = [isinstance(call, OneThread) for call in calls]
    before, behind = [False, *one][: len(one)], [*one[1:], False][: len(one)]
    places = zip(calls, one, before, behind, strict=True)
    return [between(call, *near) if alone else call for call, alone, *near in places]


def leave_sequence():
    """Gives the calling thread its team back after an interrupted sequence."""
    team = pool()
    if team is not None:
        team.grow()


def between(call, before, behind):
    """Returns the call of a OneThread that has others of them directly before or after it."""
    if before and behind:
        return call.call
    return partial(run_part, call.call, call.team, not before, not behind)


def run_part(call, team, is_first, is_last):
    if is_first:
        team.shrink()
    call()
    if is_last:
        team.grow()
