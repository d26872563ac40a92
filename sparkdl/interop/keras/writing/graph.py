"""Conversion of a network's layers to Keras layers and their calls."""

from dataclasses import dataclass, field, replace

from sparkdl.errors import SparkdlError, UnsupportedError
from sparkdl.interop.keras.places import channels_first, channels_last, keras_shape
from sparkdl.interop.keras.twins import document
from sparkdl.interop.keras.writing.heads import HEADS
from sparkdl.interop.keras.writing.layer_order import layer_order
from sparkdl.interop.keras.writing.rules import RULES
from sparkdl.interop.translated_network import free_name
from sparkdl.nn.layers import Frozen


@dataclass(frozen=True, kw_only=True)
class Tensor:
    """Output of a call of a Keras layer.

    Parameters
    ----------
    layer : str
    call : int
    shape : tuple of int
        Shape of one example in sparkdl.
    turned : bool
        Whether channels are last in Keras but first in sparkdl.
    backwards : bool
        Whether its steps are reversed in sparkdl.
    """

    layer: str
    shape: tuple
    call: int = 0
    turned: bool = False
    backwards: bool = False

    @property
    def document(self):
        shape = [None, *keras_shape(self)]
        config = {"shape": shape, "dtype": "float32"}
        config["keras_history"] = [self.layer, self.call, 0]
        return {"class_name": "__keras_tensor__", "config": config}


@dataclass(kw_only=True)
class Written:
    """A Keras layer; `owner` is the sparkdl layer that owns its arrays."""

    document: dict
    owner: str | None
    calls: list = field(default_factory=list)


class GraphWriter:
    """The Keras layers for selected outputs of a network.

    Attributes
    ----------
    layers : dict
        {name: Written}
    expected : dict
        {name: sparkdl layer that must result from reading it}
    refused : list of str
    """

    def __init__(self, conf, outputs, training):
        self.training = training
        self.layers, self.expected, self.refused, self.names = {}, {}, [], {}
        self.tensors, self.turned = {}, {}
        self.inputs = []
        for name, shape in conf.input_shapes.items():
            self.add_input(name, shape)
        for place in needed(conf, outputs):
            self.place(place)
        self.outputs = [self.output(name) for name in outputs]

    def add_input(self, name, shape):
        config = {"batch_shape": [None, *shape]}
        self.tensors[name] = self.add("InputLayer", config, name, ())
        self.inputs.append(self.tensors[name])

    def place(self, place):
        """Adds the Keras layers of a sparkdl layer, or records why it is not supported.

        An unsupported layer is replaced by an input, so that the following layers are checked as
        well.
        """
        sources = [self.tensors[name] for name in place.sources]
        frozen = isinstance(place.layer, Frozen)
        layer = place.layer.layer if frozen else place.layer
        rule = RULES.get(type(layer)) or HEADS.get(type(layer))
        try:
            if rule is None:
                raise UnsupportedError("Keras has no layer of this kind")
            at = LayerOfOurs(self, place, replace(layer, name=None), sources, frozen)
            self.tensors[place.name] = rule(at)
        except SparkdlError as error:
            self.refuse(place.name, type(layer).__name__, error)
            self.add_input(place.name, place.out_shape)

    def refuse(self, name, kind, error):
        self.refused.append(f"{name} ({kind}): {error}")

    def output(self, name):
        """Returns the tensor of an output in sparkdl's axis order, which must not be an input."""
        found = self.turn(self.tensors[name], False)
        if (found in self.inputs or found.backwards) and not self.refused:
            self.refuse(name, "output", "a layer that Keras does not need is no output of it")
        return found

    def turn(self, tensor, last):
        """Returns the tensor with channels last, or in sparkdl's axis order."""
        rank = len(tensor.shape)
        if rank < 3 or tensor.turned == last:
            return tensor
        key = tensor, last
        if key not in self.turned:
            order = channels_last(rank) if last else channels_first(rank)
            name = self.free(f"{tensor.layer}_channels_{'last' if last else 'first'}")
            dims = {"dims": [i + 1 for i in order]}
            made = self.add("Permute", dims, name, (tensor,), tensor.shape)
            self.turned[key] = replace(made, turned=last)
        return self.turned[key]

    def free(self, name):
        """Returns an unused layer name without slashes."""
        return free_name(name.replace("/", "__"), self.layers)

    def add(self, kind, config, name, sources, shape=None, owner=None, trainable=True, kwargs=None):
        """Adds a layer; returns the Tensor of its call, in sparkdl's axis order."""
        name = self.free(name)
        about = {"name": name, "dtype": "float32"} | ({} if trainable else {"trainable": False})
        made = document("layers", kind, about | config) | {"name": name}
        self.layers[name] = Written(document=made, owner=owner)
        shape = shape or tuple(config["batch_shape"][1:])
        return self.call(name, sources, shape, kwargs)

    def call(self, name, sources, shape, kwargs=None):
        """Adds a call of an existing layer; `shape` is that of an example's output in sparkdl."""
        calls = self.layers[name].calls
        calls.append((tuple(sources), kwargs or {}))
        return Tensor(layer=name, call=len(calls) - 1, shape=shape)

    def document(self):
        """Returns the model in the form of config.json."""
        order = layer_order(
            {
                (name, i): [(one.layer, one.call) for one in sources]
                for name, layer in self.layers.items()
                for i, (sources, _) in enumerate(layer.calls)
            },
            [(one.layer, one.call) for one in self.outputs],
        )
        config = {
            "name": "network",
            "trainable": True,
            "layers": [with_calls(self.layers[name]) for name in order],
            "input_layers": structure(self.inputs),
            "output_layers": structure(self.outputs),
        }
        return document("src.models.functional", "Functional", config) | {
            "registered_name": "Functional"
        }


def structure(tensors):
    """Returns a single tensor, or a list, so that a model with one input or output uses arrays."""
    found = [[one.layer, one.call, 0] for one in tensors]
    return found[0] if len(found) == 1 else found


def with_calls(layer):
    """Returns a layer's document including its calls."""
    nodes = []
    for sources, kwargs in layer.calls:
        tensors = [one.document for one in sources]
        joins = layer.document["class_name"] not in ("MultiHeadAttention",) and len(tensors) > 1
        nodes.append({"args": [tensors] if joins else tensors, "kwargs": kwargs})
    return layer.document | {"inbound_nodes": [node for node in nodes if node["args"]]}


def needed(conf, outputs):
    """Returns the places of the layers that some outputs depend on, in order."""
    wanted, found = set(outputs), []
    for place in reversed(conf.stack):
        if place.name in wanted:
            wanted |= {*place.sources, place.owner}
            found.append(place)
    return found[::-1]


class LayerOfOurs:
    """Context for a rule: a sparkdl layer in its place.

    Has `layer`, `sources` (list of Tensor), `in_shape`, and `add`.
    """

    def __init__(self, writer, place, layer, sources, frozen=False):
        self.writer, self.place, self.layer, self.sources = writer, place, layer, sources
        self.in_shape, self.frozen = place.in_shape, frozen
        self.training = writer.training

    def one(self):
        """Returns the only input, with steps in order."""
        if len(self.sources) != 1 or self.sources[0].backwards:
            raise UnsupportedError("inputs of another kind than Keras's are not supported")
        return self.sources[0]

    def plain(self):
        """Returns the input in sparkdl's axis order."""
        return self.writer.turn(self.one(), False)

    def last(self):
        """Returns the input with channels last."""
        return self.writer.turn(self.one(), True)

    def turn(self, tensor, last):
        return self.writer.turn(tensor, last)

    def add(self, kind, config, *sources, expected=None, helper=None, shape=None, kwargs=None):
        """Adds a layer; returns the Tensor of its call.

        Parameters
        ----------
        kind : str
            Keras class.
        config : dict
        sources : Tensor
        expected : Layer, optional
            Layer that must result from reading it. None: the layer itself.
        helper : str, optional
            Name suffix, if another Keras layer gets the name of the layer.
        shape : tuple of int, optional
            Shape of one example's output. None: computed by `expected` from the first source.
        """
        writer, place = self.writer, self.place
        layer = self.layer if expected is None else expected
        shape = shape or layer.out_shape(sources[0].shape)
        if place.owner != place.name and helper is None:
            made = self.call_again(layer, sources, shape, kwargs)
        else:
            name = writer.free(place.name if helper is None else f"{place.name}_{helper}")
            owner = None
            if helper is None:
                writer.names.setdefault(place.name, name)
                owner = place.name
            arguments = (shape, owner, not self.frozen, kwargs)
            made = writer.add(kind, config, name, sources, *arguments)
            writer.expected[name] = Frozen(layer=layer) if self.frozen else layer
        return replace(made, turned=sources[0].turned and len(shape) > 2)

    def call_again(self, layer, sources, shape, kwargs):
        """Adds another call of the Keras layer with which this one shares its arrays."""
        name = self.writer.names[self.place.owner]
        if self.writer.expected[name] != (Frozen(layer=layer) if self.frozen else layer):
            raise UnsupportedError(f"other options than those of {name} are not supported")
        return self.writer.call(name, sources, shape, kwargs)
