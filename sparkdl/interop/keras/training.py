"""Compile settings of a Keras model: losses, optimizer with state, metrics."""

from dataclasses import dataclass, field

from sparkdl.errors import DataError, SparkdlError, UnsupportedError, text_of
from sparkdl.interop.keras.losses import add_loss
from sparkdl.interop.keras.optimizers import optimizer_of
from sparkdl.interop.keras.options import object_of
from sparkdl.nn.layers import GRU, Frozen

CURE = "; give another one, or compiled=False"


@dataclass
class Compiled:
    """Compile settings of a model.

    Parameters
    ----------
    options : dict
        Options of GraphConf.
    outputs : list of str
        The vertices of the model's outputs.
    metrics, notes, refused : list of str
    """

    options: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    metrics: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    refused: list = field(default_factory=list)


def read_training(training, graph, places, names, conf):
    """Returns the compile settings of a document, and adds its losses to the graph.

    Parameters
    ----------
    training : dict or None
    graph : GraphTranslation
    places : list of Place
        Places of the outputs, in Keras's axis order.
    names : list of str
        Keras's names of the outputs.
    conf : dict
        The user's options; an optimizer among them replaces Keras's.
    """
    found = Compiled(outputs=[place.name for place in places])
    if not training:
        return found
    if not isinstance(training, dict):
        raise DataError("how a model was compiled must be a mapping")
    found.metrics = metric_names(training.get("metrics"))
    if conf.get("optimizer") is None:
        add_optimizer(found, training)
    add_losses(found, training, graph, places, names)
    if found.options.get("clipping"):
        found.notes.append("gradients are clipped before l1 and l2 are added; Keras clips both")
    if any(has_joined_biases(vertex.layer) for vertex in graph.build.vertices):
        found.notes.append("GRU has one bias for its gates where Keras trains two and adds them")
    return found


def has_joined_biases(layer):
    """Returns whether a layer is or contains a trained GRU with two biases in Keras."""
    inside = getattr(layer, "layer", None)
    if inside is not None:
        return not isinstance(layer, Frozen) and has_joined_biases(inside)
    return isinstance(layer, GRU) and layer.reset_after and layer.bias


def add_optimizer(found, training):
    value = training.get("optimizer") or training.get("optimizer_config")
    if value is None:
        return
    try:
        found.options |= optimizer_of(value, found.notes)
    except (SparkdlError, TypeError, ValueError, KeyError) as error:
        found.refused.append(f"optimizer: {text_of(error)}{CURE}")


def add_losses(found, training, graph, places, names):
    losses = per_output(training.get("loss"), names, "loss")
    weights = per_output(training.get("loss_weights"), names, "loss_weights")
    for i, (place, name) in enumerate(zip(places, names, strict=True)):
        if losses[i] is None:
            continue
        labels = name if len(places) > 1 else None
        weight = 1.0 if weights[i] is None else weights[i]
        others = [*found.outputs[:i], *found.outputs[i + 1 :]]
        try:
            found.outputs[i] = add_loss(graph, place, losses[i], weight, labels, others)
        except (SparkdlError, TypeError, ValueError, KeyError) as error:
            found.refused.append(f"{name}: {text_of(error)}{CURE}")


def per_output(value, names, what):
    """Returns a value per output, from a dict by name, a list, or one value for all."""
    if isinstance(value, dict) and "class_name" not in value:
        return [value.get(name) for name in names]
    if not isinstance(value, list):
        return [value] * len(names)
    if len(value) != len(names):
        raise DataError(f"{what} must have one for each of {len(names)} outputs, got {value!r}")
    return value


def metric_names(value):
    """Returns the names in a nested structure of metrics."""
    if value is None:
        return []
    if isinstance(value, dict) and "class_name" not in value:
        value = list(value.values())
    if isinstance(value, list):
        return [name for one in value for name in metric_names(one)]
    try:
        return [object_of(value)[0]]
    except UnsupportedError as error:
        return [str(error)]
