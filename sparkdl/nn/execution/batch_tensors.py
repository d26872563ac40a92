"""Tensors of a batch and a network's forward pass on them, from which programs are built."""

from sparkdl.engine import Spec, Tensor
from sparkdl.nn.execution.forward import forward
from sparkdl.nn.execution.recurrent_states import states_in
from sparkdl.nn.execution.scoring import example_losses
from sparkdl.nn.inputs.columns import label_mask_of, mask_of, weights_of_labels

IDS, EPOCH = "record:ids", "record:epoch"  # of programs; columns may be "ids" and "epoch"


def inputs_of(replica, shapes):
    """Returns the tensors of parameters, buffers and batch columns of these shapes."""
    conf, (params, buffers) = replica.conf, replica.arrays()
    weights = {name: tensor(name, view.shape) for name, view in params.items()}
    states = {name: tensor(name, view.shape) for name, view in buffers.items()}
    batch = {name: tensor(name, shape, type_of(conf, name)) for name, shape in shapes}
    return weights, states, batch


def type_of(conf, column):
    """Returns the dtype in which a program takes a column."""
    place = conf.label_columns.get(column)
    return "int32" if place is not None and place.layer.label_kind == "class" else "float32"


def identity_of(n):
    """Returns the tensors that determine the random numbers of n examples."""
    return {"ids": tensor("ids", (n,), "uint64"), "epoch": tensor("epoch", (), "uint64")}


def identity_inputs(ids, epoch):
    """Returns {program input: Tensor or fed value} for the entries of `identity_of`."""
    return {IDS: ids, EPOCH: epoch}


def forward_batch(conf, weights, states, batch, **options):
    """Runs the network forward on a batch {column: Tensor}."""
    x = {name: batch[column] for column, name in conf.feature_columns.items()}
    masks = {name: batch.get(mask_of(column)) for column, name in conf.feature_columns.items()}
    columns = {place.name: conf.label_column(place) for place in conf.outputs_with_labels}
    labels = {name: batch[column] for name, column in columns.items() if column in batch}
    options |= {"masks": masks, "labels": labels, "states": states_in(batch)}
    if options["states"] and conf.tbptt and options.get("training"):
        options["backward_steps"] = conf.tbptt[1]
    return forward(conf, weights, states, x, **options)


def losses_of(conf, result, batch, output=None):
    """Returns the loss of each example, from the forward result and the batch {column: Tensor}.

    `output` as in `example_losses`.
    """
    masks = {column: batch.get(label_mask_of(column)) for column in conf.label_columns}
    own = {column: batch.get(name) for column, name in weights_of_labels(conf).items()}
    return example_losses(conf, result, batch, masks, batch.get("weights"), output, own)


def predictions_and_losses(conf, weights, states, batch, outputs):
    """Returns {name: Tensor} of the predictions and losses of a tuple of outputs."""
    names = [conf.output_named(output).name for output in outputs]
    result = forward_batch(conf, weights, states, batch, outputs=tuple(dict.fromkeys(names)))
    found = {f"prediction {i}": result.activations[name] for i, name in enumerate(names)}
    lost = (losses_of(conf, result, batch, output) for output in outputs)
    return found | {f"losses {i}": losses for i, losses in enumerate(lost)}


def split_by_output(results, outputs, n):
    """Returns {output: (prediction, losses)} of n examples, given `predictions_and_losses`."""
    kinds = "prediction", "losses"
    return {
        output: tuple(results[f"{kind} {i}"][:n].copy() for kind in kinds)
        for i, output in enumerate(outputs)
    }


def tensor(name, shape, dtype="float32"):
    return Tensor(Spec(tuple(shape), dtype), name=name)
