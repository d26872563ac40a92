"""Choice of stage boundaries that balance the stages and keep traffic between them low."""

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparkdl.errors import ConfigError
from sparkdl.nn.execution.cost_estimates import estimate_layer_seconds
from sparkdl.nn.execution.value_shapes import trace_values
from sparkdl.nn.inputs.columns import nominal_shapes
from sparkdl.nn.networks.stage import Stage, crossing_values, starts_of

EXAMPLES = 7  # size of a traced batch: a prime, unlike other lengths
BANDWIDTH = 1.25e9  # bytes per second between two workers: 10 Gb/s


@lru_cache(maxsize=4)
def stages_of(conf, wanted, workers):
    """Returns the Stages of a network, a tuple from the first to the last.

    Parameters
    ----------
    conf : NetworkConf or GraphConf
    wanted : "auto", int or tuple of str
        As PipelineParallel.stages.
    workers : int

    Raises
    ------
    ConfigError
        If the network has no such stages, or the number of workers is no multiple of theirs.
    """
    edges = edges_of(conf, wanted, workers)
    return tuple(Stage(conf, start, stop) for start, stop in pairwise(edges))


def edges_of(conf, wanted, workers):
    """Returns the stack indices at which stages begin, and the stack's length."""
    end = len(conf.stack)
    if wanted == "auto":
        counts = [n for n in range(workers, 0, -1) if workers % n == 0]
        return next(edges for n in counts if (edges := best_edges(conf, n)) is not None)
    if isinstance(wanted, int):
        edges = best_edges(conf, wanted)
        if edges is None:
            most = next(n - 1 for n in range(1, end + 2) if best_edges(conf, n) is None)
            refuse(f"at most {most} for this network", wanted, "a stage needs parameters")
    else:
        edges = named_edges(conf, wanted)
    count = len(edges) - 1
    if workers % count:
        cure = f"{workers} workers are no whole number of pipelines; change `workers` or stages"
        refuse(f"a divisor of {workers}, the number of workers", count, cure)
    return edges


def named_edges(conf, names):
    """Returns the edges of stages that begin with the layers of these names."""
    places, allowed = {p.name: i for i, p in enumerate(conf.stack)}, cut_places(conf)
    found = [places.get(name) for name in names]
    for name, place in zip(names, found, strict=True):
        if place not in allowed:
            can = [conf.stack[index].name for index in allowed]
            refuse(f"layers that a stage may begin with, {can}", name, "name some of them")
    edges, starts = [0, *found, len(conf.stack)], starts_of(conf)
    if not all(starts[a] < starts[b] for a, b in pairwise(edges)):
        refuse("layers in order, with parameters between them", names, "name fewer")
    return edges


def refuse(must, value, cure):
    raise ConfigError(f"PipelineParallel.stages must be {must}, got {value!r}; {cure}")


def cut_places(conf):
    """Returns the stack indices, in order, at which a stage may begin.

    Every value that crosses the cut has an entry for each example, and no layer shares parameters
    with a layer on the other side.
    """
    values, _ = traced(conf)
    index = {place.name: i for i, place in enumerate(conf.stack)}
    return [
        cut
        for cut in range(1, len(conf.stack))
        if all(values[name].shape[:1] == (EXAMPLES,) for name in crossing_values(conf, cut))
        and not any(index[p.owner] < cut <= i for i, p in enumerate(conf.stack))
    ]


class Costs(NamedTuple):
    """Costs of the stages of a network.

    Parameters
    ----------
    edges : list of int
        Stack indices at which a stage may begin, and the stack's length.
    starts : list of int
        As `starts_of` gives them.
    seconds : array (layers + 1,)
        Per example, cumulative over the layers before each index.
    crossing : {edge: seconds}
        Per example, for the values that cross the edge.
    """

    edges: list
    starts: list
    seconds: np.ndarray
    crossing: dict


@lru_cache(maxsize=4)
def costs_of(conf):
    """Returns the Costs of a network."""
    values, _ = traced(conf)
    edges = [0, *cut_places(conf), len(conf.stack)]
    seconds = np.concatenate([[0], np.cumsum(estimate_layer_seconds(conf, values, EXAMPLES))])
    crossing = {cut: sum(bytes_across(conf, values, cut)) / BANDWIDTH for cut in edges}
    return Costs(edges, starts_of(conf), seconds, crossing)


def best_edges(conf, count):
    """Returns the edges of `count` stages whose slowest is fastest, or None if there are none.

    Each of several stages has parameters. Transfer across an edge counts for the stage after it.
    """
    if count == 1:
        return [0, len(conf.stack)]
    allowed, starts, seconds, crossing = costs_of(conf)
    best = {0: (0.0, [0])}  # {edge: (seconds of the slowest stage up to it, edges)}
    for _ in range(count):
        best = {
            stop: min(
                (max(slowest, seconds[stop] - seconds[start] + crossing[start]), [*edges, stop])
                for start, (slowest, edges) in best.items()
                if start < stop and starts[start] < starts[stop]
            )
            for stop in allowed
            if any(start < stop and starts[start] < starts[stop] for start in best)
        }
    return best[len(conf.stack)][1] if len(conf.stack) in best else None


@lru_cache(maxsize=4)
def traced(conf):
    """Returns the result of `trace_values` for EXAMPLES of the network's nominal shapes."""
    return trace_values(conf, nominal_shapes(conf, EXAMPLES))


def bytes_across(conf, values, cut):
    """Returns the bytes per example that cross a cut: (values forward, gradients back)."""
    names = crossing_values(conf, cut) if 0 < cut < len(conf.stack) else ()
    sizes = {name: values[name].spec.nbytes // EXAMPLES for name in names}
    back = sum(size for name, size in sizes.items() if name not in conf.input_shapes)
    return sum(sizes.values()), back
