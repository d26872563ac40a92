"""Sides measured in turns, and what their figures say side by side."""

from statistics import median

from tests.benchmarks.cpu.processes import AS_RUN, OURS, Failed


def opened(make, names):
    """({name: side}, {name: why it failed}): every side made, those that cannot be left out."""
    sides, failed = {}, {}
    for name in names:
        try:
            sides[name] = make(name)
        except Failed as error:
            failed[name] = str(error)
    return sides, failed


def in_turns(sides, rounds, burst):
    """{name: a figure a round}; each round begins with another side."""
    found = {name: [] for name in sides}
    names = list(sides)
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found[name].append(sides[name].measure(burst))
    return found


def compared(found):
    """{what: figure} of the rounds: ours, the best peer, and how many times ours they are."""
    middle = {name: median(figures) for name, figures in found.items()}
    peers = {name: value for name, value in middle.items() if name != OURS}
    result = {"medians": middle, "ours": middle.get(OURS)}
    if peers:
        best = min(peers, key=peers.get)
        result |= {"best": best, "against_best": ratio(found, best)}
    return result | {"against_as_run": ratio(found, AS_RUN)}


def ratio(found, name):
    """The median over rounds of a peer's figure by ours, or None where one of them is missing."""
    if OURS not in found or name not in found:
        return None
    return median(theirs / ours for theirs, ours in zip(found[name], found[OURS], strict=True))
