"""The layers of a Keras model, call by call, as vertices of a graph."""

import re
from dataclasses import dataclass, field, replace

from sparkdl.errors import ConfigError, DataError, SparkdlError, UnsupportedError
from sparkdl.interop.keras.calls import calls_of, is_model, is_trainable
from sparkdl.interop.keras.layers import RULES
from sparkdl.interop.keras.places import Place, channels_first, channels_last
from sparkdl.interop.translated_network import free_name
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import Activation, Frozen, Permute

MISTAKES = (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """An array of the file and its place in our network.

    Parameters
    ----------
    vertex, ours : str
    path : tuple of str
        Groups of a weights file down to the layer.
    legacy : str
        The layer of the model that an .h5 file keeps it under.
    take : Take
    shape : tuple of int
        Ours.
    rank : tuple of int
        The place of the layer among those of the model, and of the models within it.
    trained : bool
        Whether it is a parameter that is trained.
    parameter : bool
        Whether it is a parameter; else a buffer.
    """

    vertex: str
    ours: str
    path: tuple
    legacy: str
    take: object
    shape: tuple
    rank: tuple
    trained: bool
    parameter: bool


@dataclass
class Scope:
    """A model or nested model while it is translated."""

    path: tuple = ()
    prefix: str = ""
    legacy: str = ""
    trainable: bool = True
    rank: tuple = ()
    used: dict = field(default_factory=dict)

    def group(self, kind):
        """Returns the path of the next layer of a class in a weights file."""
        name = snake_case(kind)
        number = self.used[name] = self.used.get(name, -1) + 1
        return (*self.path, "layers", f"{name}_{number}" if number else name)


class GraphTranslation:
    """The vertices, places of tensors and arrays of a model so far."""

    def __init__(self, version, shapes, images="channels_last"):
        self.version, self.given, self.images = version, shapes, images
        self.build = GraphBuilder()
        self.taken, self.refused, self.owners, self.groups = [], [], {}, {}
        self.turned, self.names, self.output_names = {}, set(), []
        self.repeating = []  # layers that, in Keras, repeat their last output at masked steps

    @property
    def asks_inside(self):
        """Whether the layer that has an array says alone if it is trained, but for the model.

        Keras 2 asks what is around that layer as well.
        """
        return self.version >= 3

    def model(self, document, inputs=None, scope=None):
        """Translates a model; returns the places of its outputs, None for those refused.

        Parameters
        ----------
        document : dict
            As in config.json.
        inputs : list of Place, optional
            Of a nested model. None: inputs of the network.
        """
        layers, sources, outputs = calls_of(document, self.version)
        scope = scope or Scope(trainable=is_trainable(document))
        tensors = {}
        for layer in layers:
            self.groups[scope.path, layer.name] = scope.group(layer.kind)
        for i, (layer, at) in enumerate(sources):
            tensors[at] = inputs[i] if inputs is not None else self.input(layer)
        waiting = [(layer, i, call) for layer in layers for i, call in enumerate(layer.calls)]
        while waiting:
            waiting = self.turn_of_calls(waiting, tensors, scope)
        if not scope.path:
            self.output_names = [at[0] for at in outputs]
        return [tensors.get(at) for at in outputs]

    def turn_of_calls(self, waiting, tensors, scope):
        """Adds the calls whose sources are there; returns the others."""
        later = []
        for layer, number, call in waiting:
            if any(at not in tensors for at in call.sources):
                later.append((layer, number, call))
                continue
            given = self.call(layer, call, [tensors[at] for at in call.sources], scope)
            tensors |= {(layer.name, number, i): one for i, one in enumerate(given)}
        if len(later) == len(waiting):
            names = sorted({layer.name for layer, _, _ in later})
            raise DataError(f"layers must read what is there, not so {', '.join(names)[:200]}")
        return later

    def input(self, layer):
        """Adds an input of the network."""
        shape = self.given.get(layer.name, self.given.get(None)) or layer.shape
        if not shape or any(type(n) is not int or n < 1 for n in shape):
            raise ConfigError(
                f"{layer.name}: its shape must be known, got {shape}; give it: shapes=..."
            )
        shape, turned = tuple(shape), self.images == "channels_first" and len(shape) > 2
        own = (shape[-1], *shape[:-1]) if turned else shape
        self.build.inputs[layer.name] = own
        self.names.add(layer.name)
        return Place(name=layer.name, shape=own, turned=turned)

    def call(self, layer, call, given, scope):
        """Adds the vertices of one call of a layer, or notes why there are none."""
        try:
            layer.refuse_custom()
            if not is_model(layer.kind):
                rule_of(layer.kind)
            if any(place is None for place in given):  # behind a layer that is refused
                return [None]
            if is_model(layer.kind):
                return self.nested(layer, call, given, scope)
            return [self.layer(layer, call, given, scope)]
        except SparkdlError as error:
            self.refuse(layer, error)
        except MISTAKES as error:
            self.refuse(layer, f"an option of the wrong kind: {error}")
        return [None]

    def nested(self, layer, call, given, scope):
        """Adds the vertices of a model within a model."""
        inner = Scope(
            path=self.groups[scope.path, layer.name],
            prefix=f"{scope.prefix}{layer.name}/",
            legacy=scope.legacy or layer.name,
            trainable=scope.trainable and (self.asks_inside or layer.trainable),
            rank=(*scope.rank, layer.rank),
        )
        return self.model(layer.document, given, inner)

    def layer(self, layer, call, given, scope):
        """Adds the vertices of a layer; returns the place of its output."""
        rule = rule_of(layer.kind)
        at = LayerCall(translation=self, layer=layer, call=call, inputs=given, scope=scope)
        place = rule(at)
        at.options.finish()
        return place

    def plain_output(self, place):
        """Returns the place of an output with its axes as Keras has them; never an input."""
        place = self.turn(place, False)
        if place.name not in self.build.inputs:
            return place
        name = self.free(f"{place.name}/output")
        self.build.add(Activation("identity"), place.name, name=name)
        return replace(place, name=name)

    def refuse(self, layer, error):
        text = f"{layer.name} ({layer.kind}): {error}"
        if text not in self.refused:
            self.refused.append(text)

    def free(self, name):
        """Returns a name of a vertex that is not taken."""
        name = free_name(name, self.names)
        self.names.add(name)
        return name

    def turn(self, place, first):
        """Returns the place with its channels first, or with its axes as Keras has them."""
        rank = len(place.shape)
        if rank < 3 or place.turned == first:
            return place
        key = place.name, first
        if key not in self.turned:
            order = channels_first(rank) if first else channels_last(rank)
            layer = Permute(order=order)
            name = self.free(f"{place.name}/{'channels_first' if first else 'channels_last'}")
            self.build.add(layer, place.name, name=name)
            shape = layer.out_shape(place.shape)
            self.turned[key] = replace(place, name=name, shape=shape, turned=first)
        return self.turned[key]


class LayerCall:
    """One call of a layer, with what a rule needs.

    `options`, `kind`, `inputs` (list of Place), `call` (arguments), and `add`.
    """

    def __init__(self, *, translation, layer, call, inputs, scope):
        self.translation, self.layer, self.call = translation, layer, call
        self.inputs, self.scope, self.kind = inputs, scope, layer.kind
        self.options, self.version = layer.options(), translation.version
        self.parts, self.trainable = 0, scope.trainable and layer.trainable

    def look_inside(self, trainable):
        """Takes the flag of training from the layer inside, which has the arrays."""
        around = self.translation.asks_inside or self.trainable
        self.trainable = self.scope.trainable and around and trainable

    def one(self):
        """Returns the one input."""
        if len(self.inputs) != 1:
            raise UnsupportedError(f"{len(self.inputs)} inputs are not supported")
        return self.inputs[0]

    def plain(self, place):
        """Returns a place with its axes as Keras has them."""
        return self.translation.turn(place, False)

    def first(self, place):
        """Returns a place with its channels first, of what Keras has last."""
        return self.translation.turn(place, True)

    def images(self, place):
        """Returns a place with its channels first, as data_format says where Keras has them."""
        form = self.options.take("data_format") or "channels_last"
        self.options.need(form in ("channels_last", "channels_first"), "data_format", form)
        if len(place.shape) == 2 and form == "channels_first":
            self.options.need(False, "data_format", form)
        return self.first(place) if form == "channels_last" else self.plain(place)

    def add(self, layer, *places, takes=(), turned=None, masked=None, helper=False):
        """Adds a vertex; returns its place.

        Parameters
        ----------
        layer : Layer
        places : Place
            What it reads.
        takes : sequence of Take
            Its arrays, in Keras's order.
        turned, masked : bool, optional
            As of Place; those of the first place unless given.
        helper : bool
            Whether another vertex has the name of Keras's layer.
        """
        graph, shapes = self.translation, tuple(place.shape for place in places)
        in_shape = shapes if layer.multi_input else shapes[0]
        shape = tuple(layer.out_shape(in_shape))
        name, shares = self.name_for(layer, takes, helper)
        if takes and not self.trainable:
            layer = Frozen(layer=layer)
        graph.build.add(layer, *(place.name for place in places), name=name, shares=shares)
        if takes and shares is None:
            self.record(layer, in_shape, name, takes)
        return Place(
            name=name,
            shape=shape,
            turned=(places[0].turned if turned is None else turned) and len(shape) > 2,
            masked=(places[0].masked if masked is None else masked) and len(shape) == 2,
        )

    def name_for(self, layer, takes, helper):
        """Returns (name of the next vertex, the vertex whose arrays it shares)."""
        base = self.scope.prefix + self.layer.name
        self.parts += 1
        wanted = f"{base}/{layer.type_name.lower()}" if helper else base
        name = self.translation.free(wanted)
        if not takes:
            return name, None
        key = self.scope.path, self.layer.name, self.parts
        owner = self.translation.owners.setdefault(key, name)
        return name, None if owner == name else owner

    def record(self, layer, in_shape, name, takes):
        """Notes which arrays of the file go where."""
        graph = self.translation
        params, buffers = layer.param_shapes(in_shape), layer.buffer_shapes(in_shape)
        for take in takes:
            parameter = take.ours in params
            graph.taken.append(
                Taken(
                    vertex=name,
                    ours=take.ours,
                    path=graph.groups[self.scope.path, self.layer.name],
                    legacy=self.scope.legacy or self.layer.name,
                    take=take,
                    shape=tuple((params | buffers)[take.ours]),
                    rank=(*self.scope.rank, self.layer.rank),
                    trained=parameter and self.trainable,
                    parameter=parameter,
                )
            )


def rule_of(kind):
    if kind not in RULES:
        raise UnsupportedError("a layer of this class is not supported")
    return RULES[kind]


def snake_case(name):
    """Returns the name that Keras gives to the group of a class."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
