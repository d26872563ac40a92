"""Translation of a Keras model's layers, call by call, to vertices of a graph."""

import re
from dataclasses import dataclass, field, replace
from math import prod

from sparkdl.errors import ConfigError, DataError, SparkdlError, UnsupportedError
from sparkdl.interop.keras.automatic_masks import check_masks, computed_mask, operations_for_masks
from sparkdl.interop.keras.calls import acts_in_training, calls_of, is_model, is_trainable
from sparkdl.interop.keras.layers import RULES
from sparkdl.interop.keras.places import Place, channels_first, channels_last
from sparkdl.interop.keras.weights import UNUSED
from sparkdl.interop.translated_network import MISTAKES, only_input, take_name
from sparkdl.nn import GraphBuilder
from sparkdl.nn.layers import Activation, Frozen, Permute, Reshape

SAME = object()  # the mask of the first input


@dataclass(frozen=True, kw_only=True)
class Taken:
    """An array of the file and its place in the network.

    Parameters
    ----------
    vertex, ours : str
        Vertex and name of the array.
    path : tuple of str
        Groups of a weights file down to the layer.
    legacy : str
        Layer of the model that has it in an .h5 file.
    take : Take
    shape : tuple of int
        Shape in sparkdl.
    rank : tuple of int
        Index of the layer in the model, and in nested models.
    trained : bool
        Whether it is a trained parameter.
    """

    vertex: str
    ours: str
    path: tuple
    legacy: str
    take: object
    shape: tuple
    rank: tuple
    trained: bool


@dataclass
class Scope:
    """State of the translation of a model or nested model."""

    path: tuple = ()
    prefix: str = ""
    legacy: str = ""
    trainable: bool = True
    rank: tuple = ()
    operations: frozenset = frozenset()  # layers that compute masks
    used: dict = field(default_factory=dict)

    def group(self, kind):
        """Returns the path of the next layer of a class in a weights file."""
        name = snake_case(kind)
        number = self.used[name] = self.used.get(name, -1) + 1
        return (*self.path, "layers", f"{name}_{number}" if number else name)


class GraphTranslation:
    """State of a translation: vertices, tensors and arrays so far."""

    def __init__(self, version, shapes, images="channels_last", loses_masks=True):
        self.version, self.given, self.images = version, shapes, images
        self.loses_masks = loses_masks  # whether vertices may be added where Keras loses a mask
        self.build = GraphBuilder()
        self.taken, self.refused, self.owners, self.groups = [], [], {}, {}
        self.values = {}  # {"vertex/array": numbers that are options of the layer}
        self.turned, self.names, self.output_names = {}, set(), []
        self.notes = []
        self.unlike = []  # layers that give other numbers than in Keras at masked steps

    @property
    def asks_inside(self):
        """Whether only the layer that owns an array decides if it is trained, besides the model.

        In Keras 2 the wrappers of that layer decide as well.
        """
        return self.version >= 3

    def model(self, document, inputs=None, scope=None):
        """Translates a model; returns the Places of its outputs, None for unsupported ones.

        Parameters
        ----------
        document : dict
            As in config.json.
        inputs : list of Place, optional
            Inputs of a nested model. None: inputs of the network.
        """
        layers, sources, outputs = calls_of(document)
        scope = scope or Scope(trainable=is_trainable(document))
        inner = [*layers, *(layer for layer, _ in sources)]
        scope.operations, tensors = operations_for_masks(inner, outputs), {}
        for layer in layers:
            self.groups[scope.path, layer.name] = scope.group(layer.kind)
        for i, (layer, at) in enumerate(sources):
            tensors[at] = inputs[i] if inputs is not None else self.input(layer)
        waiting = [(layer, i, call) for layer in layers for i, call in enumerate(layer.calls)]
        while waiting:
            waiting = self.turn_of_calls(waiting, tensors, scope)
        if not scope.path:
            self.output_names = [at[0] for at in outputs]
        made = {at[:2] for at in tensors}  # of a call that is refused the first output alone
        if strange := sorted({str(at[0]) for at in outputs if at[:2] not in made}):
            raise DataError(f"outputs must be tensors that exist, got others of {strange}"[:300])
        return [tensors.get(at) for at in outputs]

    def turn_of_calls(self, waiting, tensors, scope):
        """Adds the calls whose sources exist; returns the others."""
        later = []
        for layer, number, call in waiting:
            computed = [at for at in call.masks if at[0] in scope.operations]
            if any(at not in tensors for at in (*call.sources, *computed)):
                later.append((layer, number, call))
                continue
            masks = [tensors[at] if at in computed else None for at in call.masks]
            given = self.call(layer, call, [tensors[at] for at in call.sources], masks, scope)
            tensors |= {(layer.name, number, i): one for i, one in enumerate(given)}
        if len(later) == len(waiting):
            names = sorted({layer.name for layer, _, _ in later})
            raise DataError(
                f"layers must read tensors that exist, got others in {', '.join(names)[:200]}"
            )
        return later

    def input(self, layer):
        """Adds an input of the network."""
        shape = self.given.get(layer.name, self.given.get(None)) or layer.shape
        if not shape or any(type(n) is not int or n < 1 for n in shape):
            raise ConfigError(
                f"{layer.name}: its shape must be known, got {shape}; give shapes=..."
            )
        shape, turned = tuple(shape), self.images == "channels_first" and len(shape) > 2
        own = (shape[-1], *shape[:-1]) if turned else shape
        self.build.inputs[layer.name] = own
        self.names.add(layer.name)
        return Place(name=layer.name, shape=own, turned=turned)

    def call(self, layer, call, given, masks, scope):
        """Adds the vertices of one call of a layer, or records why it is not supported."""
        try:
            if layer.name in scope.operations:
                return [computed_mask(layer, call, given)]
            layer.refuse_custom()
            if not is_model(layer.kind):
                rule_of(layer.kind)
            call.refuse_training()
            check_masks(masks, given[0] if given else None)
            if call.is_inference and layer.is_asked and acts_in_training(layer.document):
                self.notes.append(f"{layer.name} trains, although its call has training=False")
            if any(place is None for place in given):  # after an unsupported layer
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
        """Adds the vertices of a nested model."""
        inner = Scope(
            path=self.groups[scope.path, layer.name],
            prefix=f"{scope.prefix}{layer.name}/",
            legacy=scope.legacy or layer.name,
            trainable=scope.trainable and (self.asks_inside or layer.trainable),
            rank=(*scope.rank, layer.rank),
        )
        return self.model(layer.document, given, inner)

    def layer(self, layer, call, given, scope):
        """Adds the vertices of a layer; returns the Place of its output."""
        rule = rule_of(layer.kind)
        at = LayerCall(translation=self, layer=layer, call=call, inputs=given, scope=scope)
        place = rule(at)
        at.options.finish()
        return place

    def plain_output(self, place):
        """Returns the Place of an output in Keras's axis order, which must not be an input."""
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
        """Returns an unused vertex name."""
        return take_name(name, self.names)

    def turn(self, place, first):
        """Returns the Place with channels first, or in Keras's axis order."""
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
    """Context for a rule: one call of a layer.

    Has `options`, `kind`, `inputs` (list of Place), `call` (arguments), and `add`.
    """

    def __init__(self, *, translation, layer, call, inputs, scope):
        self.translation, self.layer, self.call = translation, layer, call
        self.inputs, self.scope, self.kind = inputs, scope, layer.kind
        self.options, self.version = layer.options(), translation.version
        self.parts, self.trainable = 0, scope.trainable and layer.trainable

    def look_inside(self, trainable):
        """Takes the trainable flag from the inner layer, which owns the arrays."""
        around = self.translation.asks_inside or self.trainable
        self.trainable = self.scope.trainable and around and trainable

    def one(self):
        """Returns the only input; raises UnsupportedError for several."""
        return only_input(self.inputs)

    def plain(self, place):
        """Returns a Place in Keras's axis order."""
        return self.translation.turn(place, False)

    def first(self, place):
        """Returns a Place with channels first, from Keras's channels last."""
        return self.translation.turn(place, True)

    def images(self, place):
        """Returns a Place with channels first, from the order that data_format gives."""
        form = self.options.take("data_format") or "channels_last"
        self.options.need(form in ("channels_last", "channels_first"), "data_format", form)
        if len(place.shape) == 2 and form == "channels_first":
            self.options.need(False, "data_format", form)
        return self.first(place) if form == "channels_last" else self.plain(place)

    def unmasked(self, place):
        """Returns a Place without its mask, which Keras loses here.

        Two Reshapes lose ours. Raises UnsupportedError where numbers at masked steps differ.
        """
        if place.masked and not (self.translation.loses_masks and place.filled):
            raise UnsupportedError(f"{self.kind} of a sequence with a mask is not supported")
        if not place.masked:
            return place
        row = self.add(Reshape(shape=(prod(place.shape),)), place, helper=True)
        return self.add(Reshape(shape=place.shape), row, helper=True)

    def add(self, layer, *places, takes=(), turned=None, mask=SAME, filled=None, helper=False):
        """Adds a vertex; returns its Place.

        Parameters
        ----------
        layer : Layer
        places : Place
            Its inputs.
        takes : sequence of Take
            Its arrays, in Keras's order.
        turned, mask : optional
            As in Place; by default those of the first input.
        filled : bool, optional
            As in Place; by default whether all inputs are.
        helper : bool
            Whether another vertex gets the name of Keras's layer.
        """
        graph, shapes = self.translation, tuple(place.shape for place in places)
        in_shape = shapes if layer.multi_input else shapes[0]
        shape = tuple(layer.out_shape(in_shape))
        mask = places[0].mask if mask is SAME else mask
        filled = all(place.filled for place in places) if filled is None else filled
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
            mask=mask if len(shape) == 2 else None,
            filled=len(shape) != 2 or mask is None or filled,
        )

    def name_for(self, layer, takes, helper):
        """Returns (name of the next vertex, vertex whose arrays it shares)."""
        base = self.scope.prefix + self.layer.name
        wanted = f"{base}/{layer.type_name.lower()}" if helper else base
        name = self.translation.free(wanted)
        if not takes:
            return name, None
        self.parts += 1
        key = self.scope.path, self.layer.name, self.parts
        owner = self.translation.owners.setdefault(key, name)
        return name, None if owner == name else owner

    def record(self, layer, in_shape, name, takes):
        """Records the destinations of the file's arrays."""
        graph = self.translation
        params, buffers = layer.param_shapes(in_shape), layer.buffer_shapes(in_shape)
        graph.values |= {f"{name}/{one.ours}": one.value for one in takes if one.value is not None}
        for take in (one for one in takes if one.value is None):
            graph.taken.append(
                Taken(
                    vertex=name,
                    ours=take.ours,
                    path=graph.groups[self.scope.path, self.layer.name],
                    legacy=self.scope.legacy or self.layer.name,
                    take=take,
                    shape=tuple((params | buffers)[take.ours]) if take.ours else UNUSED.shape,
                    rank=(*self.scope.rank, self.layer.rank),
                    trained=take.ours in params and self.trainable,
                )
            )


def rule_of(kind):
    if kind not in RULES:
        raise UnsupportedError("a layer of this class is not supported")
    return RULES[kind]


def snake_case(name):
    """Returns Keras's group name for a class."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()
