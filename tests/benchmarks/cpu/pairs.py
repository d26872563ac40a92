"""Measures sides alternately and compares their figures."""

from statistics import median

from tests.benchmarks.cpu.processes import AS_RUN, OURS, Failed


def opened(make, names):
    """Returns ({name: side}, {name: reason}) of the sides that start, and of those that fail."""
    sides, failed = {}, {}
    for name in names:
        try:
            sides[name] = make(name)
        except Failed as error:
            failed[name] = str(error)
    return sides, failed


def in_turns(sides, rounds, burst):
    """Returns {name: a figure per round}; each round starts with a different side."""
    found = {name: [] for name in sides}
    names = list(sides)
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found[name].append(sides[name].measure(burst))
    return found


def compared(found):
    """Summarizes the rounds: our median, the best peer, and its ratio to ours."""
    middle = {name: median(figures) for name, figures in found.items()}
    peers = {name: value for name, value in middle.items() if name != OURS}
    result = {"medians": middle, "ours": middle.get(OURS)}
    if peers:
        best = min(peers, key=peers.get)
        result |= {"best": best, "against_best": ratio(found, best)}
    return result | {"against_as_run": ratio(found, AS_RUN)}


def ratio(found, name):
    """Returns the median over rounds of a peer's figure to ours, or None if either is missing."""
    if OURS not in found or name not in found:
        return None
    return median(theirs / ours for theirs, ours in zip(found[name], found[OURS], strict=True))
