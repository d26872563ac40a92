"""What the cost model needs to know of a network that is cut into stages."""

from itertools import pairwise
from math import prod

import numpy as np

from sparkdl.exchange.cost_model.pipeline import PipelineModel
from sparkdl.nn.execution.cost_estimates import estimate_layer_seconds, pass_seconds
from sparkdl.nn.networks.stage import starts_of
from sparkdl.training.masters.pipeline_parallel.cuts import (
    EXAMPLES,
    best_edges,
    crossing_bytes,
    traced,
)


def pipeline_models(conf, workers, batch_size, microbatches=4):
    """Returns the PipelineModels of all numbers of stages, above 1, that divide the workers."""
    counts = [count for count in range(2, workers + 1) if workers % count == 0]
    found = ((count, best_edges(conf, count)) for count in counts)
    return [
        pipeline_model(conf, edges, batch_size, microbatches)
        for _, edges in found
        if edges is not None
    ]


def pipeline_model(conf, edges, batch_size, microbatches):
    """Returns the PipelineModel of a network that is cut at these edges."""
    seconds = estimate_layer_seconds(conf, traced(conf)[0], EXAMPLES)
    starts, stages = starts_of(conf), list(pairwise(edges))
    inputs = sum(prod(shape) for shape in conf.input_shapes.values())
    busiest = max(stages, key=lambda stage: np.sum(seconds[slice(*stage)]))
    return PipelineModel(
        stages=len(stages),
        slowest=float(np.sum(seconds[slice(*busiest)]) / np.sum(seconds)),
        crossing=batch_size
        * max((crossing_bytes(conf, cut) / 2 for cut in edges[1:-1]), default=0),
        inputs=4.0 * batch_size * inputs,
        nbytes=4.0 * max(starts[b] - starts[a] for a, b in stages),
        microbatches=microbatches,
        least=pass_seconds(4.0 * (starts[busiest[1]] - starts[busiest[0]])),
    )
