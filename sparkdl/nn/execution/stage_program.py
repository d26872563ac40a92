"""The program of a pipeline's stage: forward to the next stage, later back from its gradients."""

from sparkdl.engine import Graph, ops
from sparkdl.engine.autodiff import backward
from sparkdl.engine.backends import get
from sparkdl.engine.simplification import simplify
from sparkdl.engine.two_part_program import TwoPartProgram, wait_for
from sparkdl.errors import ConfigError
from sparkdl.nn.execution.forward import Z, forward
from sparkdl.nn.execution.recurrent_states import states_in, states_out
from sparkdl.nn.execution.replica import identity_of, inputs_of, tensor
from sparkdl.nn.execution.scoring import example_losses
from sparkdl.nn.inputs.columns import WEIGHTS, label_mask_of

VALUE, MASK, GRADIENT = "value:", "mask:", "gradient:"  # before the name of an input or a layer
SCALE, LOSS = "scale", "loss"
NEXT, SUM, GRAD = "next:", "sum:", "grad:"  # before the name of a buffer or a parameter


def stage_program(replica, shapes):
    """Returns the TwoPartProgram of a microbatch in a stage.

    Its inputs are "value:x" and "mask:x" of what the stage reads, the columns of its labels and
    states, "ids", "epoch", and "scale", by which the losses count; then, late, "gradient:y" of what
    it has passed on. It gives "value:y" and "mask:y", "loss", the sum of this stage's losses, and
    "gradient:x"; it adds to `replica.grad`, and updates buffers in the first part.

    Parameters
    ----------
    replica : StageReplica
    shapes : ((input, shape), ...)
        Of values, masks and columns; the first one begins with the number of examples.

    Raises
    ------
    ConfigError
        Where a layer updates a buffer that its gradient reads: other microbatches come between.
    """
    stage, (params, buffers) = replica.stage, replica.arrays()
    weights, states, batch = inputs_of(replica, shapes)
    inputs = weights | states | batch | {SCALE: tensor(SCALE, ())}
    inputs |= identity_of(shapes[0][1][0])
    first = simplify(Graph(inputs, stage_outputs(stage, weights, states, inputs))).outputs
    late = {GRADIENT + n: tensor(n, first[VALUE + n].shape) for n in stage.passed}
    slopes = slopes_of(stage, inputs | late, first, [*weights.values()])
    inputs |= late
    bindings = params | buffers
    bindings |= {n: buffers[n.removeprefix(NEXT)] for n in first if n.startswith(NEXT)}
    outputs = first | {GRADIENT + n: slopes[inputs[VALUE + n]] for n in stage.moved}
    for name, view in replica.grad_views().items():
        so_far = inputs[SUM + name] = tensor(SUM + name, view.shape)
        outputs[GRAD + name] = ops.add(so_far, slopes[weights[name]])
        bindings |= {SUM + name: view, GRAD + name: view}
    backend = get(replica.backend)
    program = TwoPartProgram(Graph(inputs, outputs), backend, bindings, late.keys())
    check_first_part(program, first)
    return program


def stage_outputs(stage, weights, states, inputs):
    """Returns {name: Tensor} of what a stage makes of its inputs on the way forward."""
    values = {name: inputs[VALUE + name] for name in stage.reads}
    masks = {name: inputs.get(MASK + name) for name in stage.reads}
    labels = {place.name: inputs[stage.label_column(place)] for place in stage.outputs_with_labels}
    own = {place.name: place.name + Z * place.is_output for place in stage.stack}
    own = {name: own[name] for name in stage.gives if name in own}
    options = {"masks": masks, "labels": labels, "outputs": tuple(own.values()), "training": True}
    options |= {"ids": inputs["ids"], "epoch": inputs["epoch"], "states": states_in(inputs)}
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
        losses = example_losses(stage, result, inputs, label_masks, inputs.get(WEIGHTS))
        outputs[LOSS] = ops.sum(losses)
    return outputs


def slopes_of(stage, inputs, first, weights):
    """Returns {tensor: gradient} at the weights, and at what layers of earlier stages gave."""
    grads = {first[LOSS]: inputs[SCALE]} if LOSS in first else {}
    for name in stage.passed:
        y = first[VALUE + name]  # two names may be those of one tensor
        gradient = wait_for(inputs[GRADIENT + name], first.values())
        grads[y] = ops.add(grads[y], gradient) if y in grads else gradient
    wanted = [*weights, *(inputs[VALUE + name] for name in stage.moved)]
    slopes = backward(grads, wanted)
    return {x: slopes[x] if x in slopes else ops.mul(x, 0.0) for x in wanted}


def check_first_part(program, first):
    """Raises ConfigError unless all that goes forward is there before gradients come back."""
    for name in first:
        if name not in program.early_outputs:
            raise ConfigError(
                f"layer {name.removeprefix(NEXT)!r} must not update what its gradient reads in a "
                "PipelineParallel; take AllReduceSGD"
            )
