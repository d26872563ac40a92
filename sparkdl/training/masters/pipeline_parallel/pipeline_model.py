"""The cost model's description of a network that is cut into stages."""

from itertools import pairwise
from math import prod

import numpy as np

from sparkdl.exchange.cost_model.pipeline import PipelineModel
from sparkdl.nn.execution.cost_estimates import pass_seconds
from sparkdl.training.masters.pipeline_parallel.cuts import (
    best_edges,
    bytes_across,
    costs_of,
    traced,
)


def pipeline_models(conf, workers, batch_size, microbatches=4):
    """Returns the PipelineModels of all numbers of stages above 1 that divide the workers."""
    counts = [count for count in range(2, workers + 1) if workers % count == 0]
    found = ((count, best_edges(conf, count)) for count in counts)
    return [
        pipeline_model(conf, edges, batch_size, microbatches)
        for _, edges in found
        if edges is not None
    ]


def pipeline_model(conf, edges, batch_size, microbatches):
    """Returns the PipelineModel of a network cut at these edges."""
    (values, _), costs, stages = traced(conf), costs_of(conf), list(pairwise(edges))
    inputs = sum(prod(shape) for shape in conf.input_shapes.values())
    start, stop = max(stages, key=lambda stage: np.ptp(costs.seconds[list(stage)]))
    widest = max((bytes_across(conf, values, cut)[0] for cut in edges[1:-1]), default=0)
    return PipelineModel(
        stages=len(stages),
        slowest=float((costs.seconds[stop] - costs.seconds[start]) / costs.seconds[-1]),
        crossing=batch_size * widest,
        inputs=4.0 * batch_size * inputs,
        nbytes=4.0 * max(costs.starts[b] - costs.starts[a] for a, b in stages),
        microbatches=microbatches,
        least=pass_seconds(4.0 * (costs.starts[stop] - costs.starts[start])),
    )
