"""The number of threads of a kernel: one if waking the others costs more than they save.

Waking a sleeping thread takes 5 to 40 microseconds, so several threads are slower than one for work
of less than about a hundred microseconds.
"""

from functools import partial

from sparkdl.engine.backends.onednn.rewrites.recurrent_workspace import (
    FromWorkspaceOp,
    WithWorkspaceOp,
)
from sparkdl.engine.core_speed import BYTES, FLOPS
from sparkdl.engine.native.threads import pool
from sparkdl.engine.ops.recurrent.base import RecurrentOp
from sparkdl.engine.ops.recurrent.grad import RecurrentGradOp

WORTH_WAKING = 1e-4  # seconds of work on one thread from which several threads pay
STEP_BY_STEP = RecurrentOp, RecurrentGradOp, WithWorkspaceOp, FromWorkspaceOp


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


def team_to_spare(node):
    """Returns the thread pool if a node should run on one of several threads, else None."""
    team = pool()
    return team if team is not None and team.get_size() > 1 and is_small(node) else None


def is_small(node):
    """Returns whether one thread finishes a node sooner than several."""
    return seconds_at_a_time(node) < WORTH_WAKING


def seconds_at_a_time(node):
    """Estimates the seconds of one thread for a node, or per step if it is recurrent."""
    tensors = (*node.inputs, *node.outputs)
    steps = node.inputs[0].shape[1] if isinstance(node.op, STEP_BY_STEP) else 1
    seconds = sum(tensor.spec.nbytes for tensor in tensors) / BYTES / steps
    if seconds < WORTH_WAKING:  # counting is slower for composite operations
        seconds += node.flops / FLOPS / steps
    return seconds


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
