"""Networks as functions of arrays, for predict_batch_udf."""

from collections.abc import Callable
from typing import Any

import numpy as np

from sparkdl.data.batches.batch import Batch
from sparkdl.spark.inference.predictions import load_replica
from sparkdl.training.evaluation.batch_evaluation import pieces


def batch_function(model: Any, schema: Any, transform: Any, layer: str) -> Callable[..., Any]:
    """Returns a function for predict_batch_udf, which makes a predictor of feature arrays (n, ...).

    n may be 0. Spark forks its processes, so the predictor computes on the CPU.
    """

    def make():
        replica, [name] = load_replica(model), schema.inputs
        [shape] = [place.out_shape for place in replica.conf.stack if place.name == layer]
        nothing = np.empty((0, *shape), np.float32)

        def predict(inputs: Any) -> np.ndarray:
            x = np.asarray(inputs)
            if not len(x):
                return nothing
            batch = schema.check(Batch(columns={name: x}, ids=ids_of(x)), "the batch")
            parts = pieces(batch, transform, replica.conf)
            return np.concatenate([replica.forward(part, [layer])[layer] for part in parts])

        return predict

    return make


def ids_of(inputs):
    return np.arange(len(inputs), dtype=np.uint64)
