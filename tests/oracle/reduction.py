"""Reduces a failing case: drops layers and options and shrinks sizes one by one."""

from copy import deepcopy
from time import perf_counter

from sparkdl.errors import SparkdlError
from tests.oracle.case import Case
from tests.oracle.outcomes import judged

PLAIN = {"batch": 1, "seed": 0, "mask": "none", "shaken": False, "weights": False}


def reduced(outcome, seconds=60.0):
    """Returns the Outcome of the smallest failing case found in the given time."""
    end, tried = perf_counter() + seconds, set()
    best = outcome
    progress = True
    while progress and perf_counter() < end:
        progress = False
        for smaller in candidates(best.case):
            key = repr(smaller)
            if key in tried or perf_counter() > end:
                continue
            tried.add(key)
            found = examined_again(smaller, outcome)
            if found is not None:
                best, progress = found, True
                break
    return best


def examined_again(document, outcome):
    """Returns the Outcome of a smaller case if it fails in the same way, else None."""
    try:
        found = judged(Case.from_dict(document), outcome.index)
    except (SparkdlError, KeyError, TypeError):
        return None
    if found.kind != outcome.kind:
        return None
    if outcome.kind == "raised":
        return found if found.told.split(":")[:2] == outcome.told.split(":")[:2] else None
    return found if found.excess > min(outcome.excess, 10.0) / 2 else None


def candidates(document):
    """Yields documents of simpler cases, largest reduction first."""
    yield from without_layers(document)
    for name, value in PLAIN.items():
        if document[name] != value:
            yield document | {name: value}
    yield from (document | {"conf": conf} for conf in simpler(document["conf"]))
    if document["batch"] > 1:
        yield document | {"batch": document["batch"] // 2}
        yield document | {"batch": document["batch"] - 1}


def without_layers(document):
    """Yields documents without one layer; its readers read its first input instead."""
    conf = document["conf"]
    for i in range(len(conf.get("layers", ()))):
        layers = conf["layers"][:i] + conf["layers"][i + 1 :]
        yield document | {"conf": conf | {"layers": layers}}
    for i, gone in enumerate(conf.get("vertices", ())):
        others = deepcopy(conf["vertices"][:i] + conf["vertices"][i + 1 :])
        for vertex in others:
            read = [gone["inputs"][0] if n == gone["name"] else n for n in vertex["inputs"]]
            vertex["inputs"] = read
            if vertex.get("shares") == gone["name"]:
                del vertex["shares"]
        names = {n for vertex in others for n in vertex["inputs"]}
        inputs = {name: shape for name, shape in conf["inputs"].items() if name in names}
        yield document | {"conf": conf | {"vertices": others, "inputs": inputs}}


def simpler(value):
    """Yields nested dicts and lists with one item removed or made smaller."""
    if isinstance(value, dict):
        for key in value:
            if key not in ("type", "name", "layers", "vertices", "inputs", "input_shape"):
                yield {k: v for k, v in value.items() if k != key}
        for key in value:
            for smaller in simpler(value[key]):
                yield value | {key: smaller}
    elif isinstance(value, list):
        for i, item in enumerate(value):
            for smaller in simpler(item):
                yield [*value[:i], smaller, *value[i + 1 :]]
    elif isinstance(value, int) and not isinstance(value, bool) and value > 1:
        yield from dict.fromkeys((1, value // 2, value - 1))
