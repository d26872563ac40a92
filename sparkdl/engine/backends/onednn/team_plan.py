"""Which kernels of a program run on one thread, and which on all.

A thread that waits for work spins for some microseconds and then sleeps. To wake it costs more than
it saves in a kernel of less than some hundred microseconds, while a kernel right behind another one
of several threads finds it awake. So what one kernel should do depends on those before and behind
it: a dynamic program over the nodes finds the sequence of the least total time.
"""

from dataclasses import dataclass

from sparkdl.engine.backends.onednn.node_time import needs_one_thread, seconds_alone

# Measured with libgomp on virtual machines of two cores, for GOMP_SPINCOUNT=500. A server without a
# hypervisor wakes a thread in some 10 microseconds.
WAKE = 1.2e-4  # seconds that a kernel takes longer if the other threads sleep before it
MEET = 4e-6  # seconds until all threads of a kernel have begun and ended, if awake
SPIN = 8e-6  # seconds until a thread without work sleeps
CALL = 1.5e-6  # seconds between two kernels, in Python


@dataclass(frozen=True)
class State:
    """A choice for the kernels so far.

    Parameters
    ----------
    idle : seconds since the other threads had work, None if they sleep
    seconds : the time of all kernels so far
    last : (whether the last kernel runs on one thread, the State before it), or None at the start
    """

    idle: float | None
    seconds: float
    last: tuple | None

    def alone(self, seconds):
        """Returns the state after a kernel on one thread."""
        idle = None if self.idle is None else self.idle + seconds + CALL
        asleep = idle is None or idle > SPIN
        return State(None if asleep else idle, self.seconds + seconds, (True, self))

    def together(self, seconds, threads):
        """Returns the state after a kernel on all threads."""
        own = seconds / threads + MEET + (WAKE if self.idle is None else 0)
        return State(CALL, self.seconds + own, (False, self))


def nodes_alone(nodes, threads):
    """Returns the set of nodes that should run on one of `threads` threads.

    Parameters
    ----------
    nodes : of a graph, in the order in which their kernels run
    """
    if threads == 1:
        return set()
    states = [State(None, 0.0, None)]
    for node in nodes:
        seconds = seconds_alone(node)
        after = [state.alone(seconds) for state in states]
        if not needs_one_thread(node):
            after += [min(together(states, seconds, threads), key=total)]
        states = not_worse(after)
    return {
        node for node, alone in zip(nodes, choices(min(states, key=total)), strict=True) if alone
    }


def together(states, seconds, threads):
    return (state.together(seconds, threads) for state in states)


def total(state):
    return state.seconds


def not_worse(states):
    """Returns the states that no other one beats in both time and wakefulness."""
    kept = []
    for state in sorted(states, key=wakefulness):
        if not kept or state.seconds < kept[-1].seconds:
            kept.append(state)
    return kept


def wakefulness(state):
    return (float("inf") if state.idle is None else state.idle), state.seconds


def choices(state):
    """Returns for each kernel whether it runs on one thread."""
    found = []
    while state.last is not None:
        alone, state = state.last
        found.append(alone)
    return found[::-1]
