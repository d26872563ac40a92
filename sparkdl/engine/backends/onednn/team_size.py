"""How many threads run a kernel: one where waking the others costs more than they save.

A thread that sleeps takes 5 to 40 microseconds to wake. Several threads are then slower than one at
what takes one of them less than about a hundred.
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

WORTH_WAKING = 1e-4  # seconds on one thread, from which on several are worth it
STEP_BY_STEP = RecurrentOp, RecurrentGradOp, WithWorkspaceOp, FromWorkspaceOp


class OneThread:
    """A call whose primitives were made for one thread, and which runs on one.

    oneDNN plans a primitive for as many threads as there are when it is made; it may use memory
    that it lacks where it runs on more.
    """

    def __init__(self, call, team):
        self.call, self.team = call, team

    def __call__(self):
        with self.team.alone():
            self.call()


def team_to_spare(node):
    """Returns the pool of threads where a node is to run on one of several, else None."""
    team = pool()
    return team if team is not None and team.get_size() > 1 and is_small(node) else None


def is_small(node):
    """Returns whether one thread is done with a node sooner than several would be."""
    return seconds_at_a_time(node) < WORTH_WAKING


def seconds_at_a_time(node):
    """Estimates what one thread takes for a node, or for a step of its sequence."""
    tensors = (*node.inputs, *node.outputs)
    steps = node.inputs[0].shape[1] if isinstance(node.op, STEP_BY_STEP) else 1
    seconds = sum(tensor.spec.nbytes for tensor in tensors) / BYTES / steps
    if seconds < WORTH_WAKING:  # to count takes longer where an operation is made of others
        seconds += node.flops / FLOPS / steps
    return seconds


def in_sequence(calls):
    """Returns the calls of a program at the same places; neighbours on one thread switch once."""
    one = [isinstance(call, OneThread) for call in calls]
    before, behind = [False, *one][: len(one)], [*one[1:], False][: len(one)]
    places = zip(calls, one, before, behind, strict=True)
    return [between(call, *near) if alone else call for call, alone, *near in places]


def leave_sequence():
    """Gives the calling thread its team again, which an interrupted sequence kept from it."""
    team = pool()
    if team is not None:
        team.grow()


def between(call, before, behind):
    """Returns what a OneThread does that has others of them right before or behind it."""
    if before and behind:
        return call.call
    return partial(run_part, call.call, call.team, not before, not behind)


def run_part(call, team, is_first, is_last):
    if is_first:
        team.shrink()
    call()
    if is_last:
        team.grow()
