"""The program of a pipeline stage: forward to the next stage, later back from its gradients."""

from typing import NamedTuple

from sparkdl.engine import Graph, ops
from sparkdl.engine.autodiff import backward
from sparkdl.engine.backends import get
from sparkdl.engine.graph import topological
from sparkdl.engine.simplification import simplify
from sparkdl.engine.two_part_program import TwoPartProgram, wait_for
from sparkdl.errors import ConfigError
from sparkdl.nn.execution.batch_tensors import (
    EPOCH,
    IDS,
    identity_inputs,
    identity_of,
    inputs_of,
    tensor,
)
from sparkdl.nn.execution.forward import Z, forward
from sparkdl.nn.execution.recurrent_states import states_in, states_out
from sparkdl.nn.execution.scoring import example_losses
from sparkdl.nn.inputs.columns import WEIGHTS, label_mask_of, weights_of_labels

VALUE, MASK, GRADIENT = "value:", "mask:", "gradient:"  # prefixes of names of inputs and layers
SCALE, LOSS = "scale", "loss"
NEXT, SUM, GRAD = "next:", "sum:", "grad:"  # prefixes of names of buffers and parameters


class StageGraph(NamedTuple):
    """The graph of a microbatch in a stage.

    Its inputs are "value:x" and "mask:x" for each value x the stage reads, the columns of its
    labels and states, `identity_inputs`, and "scale", a factor of the loss gradients; late inputs
    are "gradient:y" for each value y it has passed on.

    Parameters
    ----------
    inputs : {name: Tensor}
    first : {name: Tensor}
        Results of the forward pass: "value:y" and "mask:y", "loss", the sum of this stage's losses,
        states, and updated buffers.
    second : {name: Tensor}
        Results of the backward pass: "gradient:x", and the sums for `replica.grad`.
    late : tuple of str
    bindings : {name: array}
    """

    inputs: dict
    first: dict
    second: dict
    late: tuple
    bindings: dict


def stage_graph(replica, shapes, wait=wait_for):
    """Returns the StageGraph of a StageReplica.

    Parameters
    ----------
    replica : StageReplica
    shapes : ((input, shape), ...)
        Those of values, masks and columns; the first shape begins with the number of examples.
    wait : function (late Tensor, results of the forward pass)
        Returns the Tensor for the backward pass to read.
    """
    stage, (params, buffers) = replica.stage, replica.arrays()
    weights, states, batch = inputs_of(replica, shapes)
    inputs = weights | states | batch | {SCALE: tensor(SCALE, ())}
    inputs |= identity_inputs(**identity_of(shapes[0][1][0]))
    first = simplify(Graph(inputs, stage_outputs(stage, weights, states, inputs))).outputs
    late = {GRADIENT + n: tensor(n, first[VALUE + n].shape) for n in stage.passed}
    slopes = slopes_of(stage, inputs | late, first, [*weights.values()], wait)
    inputs |= late
    bindings = params | buffers
    bindings |= {n: buffers[n.removeprefix(NEXT)] for n in first if n.startswith(NEXT)}
    second = {GRADIENT + n: slopes[inputs[VALUE + n]] for n in stage.moved}
    for name, view in replica.grad_views().items():
        so_far = inputs[SUM + name] = tensor(SUM + name, view.shape)
        second[GRAD + name] = ops.add(so_far, slopes[weights[name]])
        bindings |= {SUM + name: view, GRAD + name: view}
    return StageGraph(inputs, first, second, tuple(late), bindings)


def stage_program(replica, shapes):
    """Returns the TwoPartProgram of a StageGraph.

    Raises
    ------
    ConfigError
        If a layer updates a buffer that its gradient reads: other microbatches run in between.
    """
    graph = stage_graph(replica, shapes)
    program = compile_part(replica, graph, graph.first | graph.second, graph.late)
    check_first_part(program, graph.first)
    return program


def forward_and_back(replica, shapes):
    """Returns two programs of a StageGraph: the forward pass, and both passes from the start.

    Raises
    ------
    ConfigError
        If the backward pass reads a buffer that other microbatches have updated in between.
    """
    graph = stage_graph(replica, shapes, wait=lambda late, first: late)
    read = {tensor for node in topological(graph.second.values()) for tensor in node.inputs}
    for name in replica.arrays()[1]:
        if NEXT + name in graph.first and graph.inputs[name] in read:
            raise ConfigError(
                f"layer {name!r} must not be read in the backward pass where a PipelineParallel "
                "recomputes activations; give recompute=False"
            )
    return tuple(compile_part(replica, graph, some) for some in (graph.first, graph.second))


def compile_part(replica, graph, outputs, late=()):
    """Compiles the program for some outputs of a StageGraph."""
    read = {tensor for node in topological(outputs.values()) for tensor in node.inputs}
    read |= {*outputs.values()}
    inputs = {name: value for name, value in graph.inputs.items() if value in read}
    bindings = {n: array for n, array in graph.bindings.items() if n in inputs or n in outputs}
    late = [name for name in late if name in inputs]
    return TwoPartProgram(Graph(inputs, outputs), get(replica.backend), bindings, late)


def stage_outputs(stage, weights, states, inputs):
    """Returns {name: Tensor} of a stage's results in the forward pass."""
    values = {name: inputs[VALUE + name] for name in stage.reads}
    masks = {name: inputs.get(MASK + name) for name in stage.reads}
    labels = {place.name: inputs[stage.label_column(place)] for place in stage.outputs_with_labels}
    own = {place.name: place.name + Z * place.is_output for place in stage.stack}
    own = {name: own[name] for name in stage.gives if name in own}
    options = {"masks": masks, "labels": labels, "outputs": tuple(own.values()), "training": True}
    options |= {"ids": inputs[IDS], "epoch": inputs[EPOCH], "states": states_in(inputs)}
    if options["states"] and stage.network.tbptt:
        options["backward_steps"] = stage.network.tbptt[1]
    result = forward(stage, weights, states, values, **options)
    values |= {name: result.activations[asked] for name, asked in own.items()}
    outputs = {VALUE + name: values[name] for name in stage.gives} | states_out(result, inputs)
    masks = {MASK + name: result.masks[name] for name in stage.gives}
    outputs |= {name: mask for name, mask in masks.items() if mask is not None}
    outputs |= {NEXT + name: value for name, value in result.buffer_updates.items()}
    if stage.outputs_with_labels or result.losses:
        label_masks = {column: inputs.get(label_mask_of(column)) for column in stage.label_columns}
        own = {c: inputs.get(name) for c, name in weights_of_labels(stage.network).items()}
        weights = inputs.get(WEIGHTS)
        losses = example_losses(stage, result, inputs, label_masks, weights, own=own)
        outputs[LOSS] = ops.sum(losses)
    return outputs


def slopes_of(stage, inputs, first, weights, wait):
    """Returns {tensor: gradient} at the weights and at the values from layers of earlier stages."""
    grads = {first[LOSS]: inputs[SCALE]} if LOSS in first else {}
    for name in stage.passed:
        y = first[VALUE + name]  # two names may refer to one tensor
        gradient = wait(inputs[GRADIENT + name], first.values())
        grads[y] = ops.add(grads[y], gradient) if y in grads else gradient
    wanted = [*weights, *(inputs[VALUE + name] for name in stage.moved)]
    slopes = backward(grads, wanted)
    return {x: slopes[x] if x in slopes else ops.mul(x, 0.0) for x in wanted}


def check_first_part(program, first):
    """Raises ConfigError unless all forward results are complete before gradients come back."""
    for name in first:
        if name not in program.early_outputs:
            raise ConfigError(
                f"layer {name.removeprefix(NEXT)!r} must not update what its gradient reads in a "
                "PipelineParallel; take AllReduceSGD"
            )
