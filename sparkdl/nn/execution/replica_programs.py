"""The programs of a replica, compiled for its backend: gradient, update, forward pass, losses."""

from functools import partial

import numpy as np

from sparkdl import engine
from sparkdl.engine import Graph, gradients, ops
from sparkdl.engine.simplification import simplify
from sparkdl.nn.execution.batch_tensors import (
    forward_batch,
    identity_inputs,
    identity_of,
    inputs_of,
    losses_of,
    predictions_and_losses,
    tensor,
)
from sparkdl.nn.execution.recurrent_states import states_out
from sparkdl.nn.optimization import loss_scale
from sparkdl.nn.optimization.optimizer_groups import rate_at
from sparkdl.nn.optimization.update import update_params


def gradient_program(replica, shapes):
    """Returns the program of loss, gradients and next buffers for columns of these shapes."""
    conf, (params, buffers) = replica.conf, replica.arrays()
    weights, states, batch = inputs_of(replica, shapes)
    n = shapes[0][1][0]
    identity = identity_of(n)
    result = forward_batch(conf, weights, states, batch, training=True, **identity)
    outputs = {"loss": ops.sum(losses_of(conf, result, batch))} | states_out(result, batch)
    outputs |= {f"next:{name}": value for name, value in result.buffer_updates.items()}
    inputs = weights | states | batch | identity_inputs(**identity)
    outputs = simplify(Graph(inputs, outputs)).outputs
    wanted = weights | {column: batch[column] for column in conf.bag_columns.values()}
    mean, slope = ops.mul(outputs["loss"], 1 / n), partial(gradients, wrt=list(wanted.values()))
    scale = states.get(loss_scale.SCALE)
    grads = slope(mean) if scale is None else loss_scale.scale_gradients(slope, mean, scale)
    outputs |= {f"grad:{name}": grad for name, grad in zip(wanted, grads, strict=True)}
    views = conf.params_layout.views(replica.grad)
    bindings = params | buffers | {f"grad:{name}": view for name, view in views.items()}
    bindings |= {f"next:{name}": buffers[name] for name in result.buffer_updates}
    return compile_graph(replica, inputs, outputs, bindings)


def forward_program(replica, shapes, names):
    weights, states, batch = inputs_of(replica, shapes)
    result = forward_batch(replica.conf, weights, states, batch, outputs=names)
    outputs = result.activations | states_out(result, batch)
    return compile_in_use(replica, weights | states | batch, outputs)


def loss_program(replica, shapes, output):
    weights, states, batch = inputs_of(replica, shapes)
    found = predictions_and_losses(replica.conf, weights, states, batch, output)
    return compile_in_use(replica, weights | states | batch, found)


def mask_program(replica, shapes, output):
    """Returns the program of an output's mask, or None if there is none."""
    weights, states, batch = inputs_of(replica, shapes)
    masks = forward_batch(replica.conf, weights, states, batch).masks
    mask = masks[replica.conf.output_named(output).name]
    if mask is None:
        return None
    outputs = {"mask": ops.greater(mask, 0.0)}
    return compile_in_use(replica, weights | states | batch, outputs)


def update_program(replica):
    """Returns the program of an in-place optimizer update of the whole vector."""
    conf = replica.conf
    vectors = {"params": replica.params, "grad": replica.grad}
    slots, update = conf.slots_layout.views(replica.slots), partial(update_params, conf)
    if conf.dtype == loss_scale.FLOAT16:
        slots |= scale_of(replica)
        update = partial(update, guard=loss_scale.guard_update)
    return compile_update(replica, update, vectors, slots)


def compile_update(replica, update, vectors, slots, groups=None):
    """Returns the program that updates "params" of `vectors` by "grad", and `slots`.

    `groups` have one learning rate each; None: those of the network.
    """
    groups = replica.conf.groups if groups is None else groups
    bindings = vectors | {f"slot:{name}": view for name, view in slots.items()}
    inputs = {name: tensor(name, array.shape) for name, array in bindings.items()}
    inputs |= {"rate": tensor("rate", np.shape(rate_at(groups, 0, 0))), "t": tensor("t", ())}
    old = {name: inputs[f"slot:{name}"] for name in slots}
    arguments = inputs["params"], inputs["grad"], old, inputs["rate"], inputs["t"]
    params, new = update(*arguments)
    outputs = {"new:params": params} | {f"new:{name}": value for name, value in new.items()}
    bindings |= {"new:params": vectors["params"]}
    bindings |= {f"new:{name}": view for name, view in slots.items()}
    return compile_graph(replica, inputs, outputs, bindings)


def clipping_program(replica):
    """Returns the program that clips the gradient in place, for optimizers of other frameworks."""
    conf, grad = replica.conf, tensor("grad", replica.grad.shape)
    outputs = {"new:grad": conf.clipping.clip(grad, conf.params_layout)}
    bindings = {"grad": replica.grad, "new:grad": replica.grad}
    return compile_graph(replica, {"grad": grad}, outputs, bindings)


def scale_of(replica):
    """Returns {name: view} of the loss scale's state, including the count of skipped updates."""
    views = replica.arrays()[1]
    scale = {name: views[name] for name, _ in loss_scale.BUFFERS}
    return scale | {loss_scale.LEFT_OUT: replica._vectors["left_out"].open().reshape(())}


def compile_in_use(replica, inputs, outputs):
    """Compiles an inference program that computes values of params and buffers alone only once."""
    params, buffers = replica.arrays()
    return compile_graph(replica, inputs, outputs, params | buffers, constant_bindings=True)


def compile_graph(replica, inputs, outputs, bindings, constant_bindings=False):
    graph, tf32 = Graph(inputs, outputs), replica.conf.may_round_factors
    return engine.compile(graph, replica.backend, bindings, replica.strict, tf32, constant_bindings)


def at_steps(program, after):
    """Returns {step: function} from [(parameters, function)], merging functions of one step."""
    calls = {}
    for names, function in after:
        last = max(program.final(f"grad:{name}") for name in names)
        calls.setdefault(last, []).append(function)
    return {step: partial(call_all, functions) for step, functions in calls.items()}


def call_all(functions, *arguments):
    for function in functions:
        function(*arguments)
