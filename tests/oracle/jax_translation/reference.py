"""The package's own results in float64, by its reference backend."""

from types import SimpleNamespace

import numpy as np

from sparkdl import engine
from sparkdl.engine import Graph, Spec, Tensor, ops
from sparkdl.nn import initial_slots
from sparkdl.nn.execution.batch_tensors import forward_batch, losses_of
from sparkdl.nn.optimization.update import update_params


def evaluate(conf, params, buffers, columns, training):
    """Returns a namespace of `loss`, `outputs`, `buffers`, `grads`, `values`, in JAX's format.

    It evaluates a replica's graph with float64 tensors instead of float32.
    """
    weights, states, batch = (tensors(part) for part in (params, buffers, columns))
    n = len(next(iter(columns.values())))
    names = [place.name for place in conf.stack]
    identity = {"ids": Tensor(Spec((n,), "uint64"), name="ids")} if training else {}
    result = forward_batch(
        conf, weights, states, batch, training=training, outputs=names, **identity
    )
    loss = ops.mul(ops.sum(losses_of(conf, result, batch)), 1 / n)
    outputs = {"loss": loss} | {f"value:{name}": result.activations[name] for name in names}
    outputs |= {f"next:{name}": value for name, value in result.buffer_updates.items()}
    grads = engine.gradients(loss, list(weights.values()))
    outputs |= {f"grad:{name}": grad for name, grad in zip(weights, grads, strict=True)}
    given = params | buffers | columns | {name: np.arange(n, dtype=np.uint64) for name in identity}
    program = engine.compile(Graph(weights | states | batch | identity, outputs), "reference")
    found = {name: np.array(value) for name, value in program.run(given).items()}
    return SimpleNamespace(
        loss=float(found["loss"]),
        values=within(found, "value:"),
        outputs={p.name: found[f"value:{p.name}"] for p in conf.outputs},
        buffers=buffers | within(found, "next:"),
        grads=within(found, "grad:"),
    )


def tensors(arrays):
    return {name: Tensor(Spec(a.shape, a.dtype.name), name=name) for name, a in arrays.items()}


def within(found, prefix):
    return {n.removeprefix(prefix): v for n, v in found.items() if n.startswith(prefix)}


def train(conf, params, buffers, batches):
    """Returns (params, buffers, losses) after one update per batch."""
    slots = conf.slots_layout.views(initial_slots(conf).astype(float))
    vector, losses = conf.params_layout.vector(params, np.float64), []
    for t, columns in enumerate(batches, 1):
        found = evaluate(conf, conf.params_layout.views(vector), buffers, columns, True)
        grad = conf.params_layout.vector(found.grads, np.float64)
        vector, slots = update_params(conf, vector, grad, slots, conf.rate_at(t - 1, 0), float(t))
        buffers = found.buffers
        losses.append(found.loss)
    return conf.params_layout.views(vector), buffers, losses
