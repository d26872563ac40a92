"""All-reduce of a large and a small vector: sparkdl, bare sockets and peers, alternating."""

from functools import partial
from statistics import median

from tests.benchmarks.cpu.load import Others
from tests.benchmarks.cpu.pairs import in_turns, opened
from tests.benchmarks.exchange.crew import Crew
from tests.benchmarks.exchange.row import Bar, Row, best, duration, ratio
from tests.benchmarks.exchange.sides import (
    BARE,
    BARE_TWO,
    CHECKED,
    ENCRYPTED,
    OPEN_MPI_SHARED,
    OURS,
    OURS_SHARED,
    OVER_SOCKETS,
)

LARGE, SMALL = 64_000_000, 4_096
BURSTS = {LARGE: 1.0, SMALL: 0.2}  # shares of the requested burst
SIDES = (OURS, OURS_SHARED, CHECKED, ENCRYPTED, BARE, BARE_TWO, *OVER_SOCKETS, OPEN_MPI_SHARED)


class Turn:
    """A side's measurement in a round."""

    def __init__(self, crew, name, nbytes):
        what = {BARE: "one_thread", BARE_TWO: "two_threads"}.get(name, "all_reduce")
        what = "ping_pong" if name == BARE and nbytes == SMALL else what
        self.measure = partial(crew.measure, what=what, nbytes=nbytes)


def measure(size, options):
    """Yields rows for `size` processes: each vector over sockets, then through shared memory."""
    chosen = [name for name in SIDES if name in options.sides]
    crews, failed = opened(partial(Crew, size=size), chosen)
    try:
        for nbytes, burst in BURSTS.items():
            turns = {n: Turn(crew, n, nbytes) for n, crew in crews.items() if fits(n, nbytes, size)}
            others = Others([pid for crew in crews.values() for pid in crew.pids])
            found = in_turns(turns, options.rounds, options.burst * burst)
            notes = [note(name, found, crews[name].version) for name in found]
            notes += [f"{name} failed: {reason}"[:160] for name, reason in failed.items()]
            notes += [f"other programs took {others.cores():.2f} cores"]
            yield from rows(found, nbytes, size, notes)
    finally:
        for crew in crews.values():
            crew.close()


def fits(name, nbytes, size):
    """Returns whether a side measures this size: ping-pong needs two processes and one variant."""
    return nbytes == LARGE or name not in (BARE, BARE_TWO) or (name == BARE and size == 2)


def rows(found, nbytes, size, notes):
    what = f"{'64 MB' if nbytes == LARGE else '4 KB'}, {size} processes"
    bars = over_sockets(found, nbytes, size)
    yield row(f"all-reduce {what}, sockets", found, OURS, bars, notes)
    bars = through_memory(found, nbytes)
    yield row(f"all-reduce {what}, shared memory", found, OURS_SHARED, bars, [])
    for side in (CHECKED, ENCRYPTED):
        bars = [Bar(what="our sockets", value=ratio(found, OURS, side))]
        yield row(f"all-reduce {what}, {side.split(', ')[1]}", found, side, bars, [])


def row(title, found, ours, bars, notes):
    figure = duration(median(found[ours])) if ours in found else "-"
    return Row(title=title, ours=figure, bars=tuple(bars), notes=tuple(notes), figures=found)


def over_sockets(found, nbytes, size):
    """Yields the bars for sockets: against bare sockets by speed, against ping-pong by time."""
    if nbytes == LARGE:
        bare = ratio(found, best(found, (BARE, BARE_TWO)), OURS)
        yield Bar(what="bare sockets' speed", value=bare, bound=0.8)
        yield against_best(found, OURS, 1.0)
    elif size == 2:
        bare = ratio(found, BARE, OURS)
        value = None if bare is None else 1 / bare
        yield Bar(what="time of a bare ping-pong", value=value, bound=2.5, most=True)
        yield against_best(found, OURS)


def through_memory(found, nbytes):
    """Yields the bars of shared memory: against all sockets, and a peer's shared memory."""
    bound = 2.0 if nbytes == LARGE else None
    yield against_best(found, OURS_SHARED, bound)
    yield Bar(what="our sockets", value=ratio(found, OURS, OURS_SHARED), bound=bound)
    yield Bar(what=OPEN_MPI_SHARED, value=ratio(found, OPEN_MPI_SHARED, OURS_SHARED))


def against_best(found, ours, bound=None):
    name = best(found, OVER_SOCKETS)
    what = f"best peer ({name})" if name else "best peer"
    return Bar(what=what, value=ratio(found, name, ours), bound=bound)


def note(name, found, version):
    low, high = min(found[name]), max(found[name])
    middle = duration(median(found[name]))
    return f"{name:24} {middle:>8} ({duration(low)} to {duration(high)})  {version}".rstrip()
