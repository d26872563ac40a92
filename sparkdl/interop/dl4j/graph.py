"""Translation of a configuration's nodes to vertices of a graph."""

from sparkdl.errors import ConfigError, DataError, SparkdlError, UnsupportedError
from sparkdl.interop.dl4j import vertices
from sparkdl.interop.dl4j.inputs import input_shape
from sparkdl.interop.dl4j.layer_call import LayerCall
from sparkdl.interop.dl4j.layers import RULES
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.interop.dl4j.places import Place
from sparkdl.interop.dl4j.training import UpdaterRules
from sparkdl.interop.translated_network import MISTAKES, take_name
from sparkdl.nn import GraphBuilder
from sparkdl.nn import layers as nn


class GraphTranslation:
    """State of a translation: vertices, tensors and arrays so far.

    Parameters
    ----------
    training : bool
        Whether to read losses and updaters.
    updaters : bool
        Whether to use the file's updaters as optimizers.
    """

    def __init__(self, training, updaters):
        self.training, self.updaters = training, training and updaters
        self.build, self.rules = GraphBuilder(), UpdaterRules()
        self.places, self.taken, self.refused, self.names = {}, [], [], set()

    def add_inputs(self, names, nodes, given):
        """Adds the inputs of the network."""
        for name in names:
            shape = given.get(name, given.get(None)) or input_shape(name, nodes)
            if not shape or any(type(n) is not int or n < 1 for n in shape):
                raise ConfigError(
                    f"{name}: its shape must be known, got {shape}; give shapes=..., for "
                    "sequences (steps, features)"
                )
            self.build.inputs[name] = tuple(shape)
            self.names.add(name)
            self.places[name] = Place(name=name, shape=tuple(shape))

    def add(self, node):
        """Adds the vertices of a node, or records why it is not supported."""
        try:
            rule, kind, options = rule_of(node)
            missing = [name for name in node.sources if name not in self.places]
            if missing:
                raise DataError(f"{node.name} reads {missing[0]!r}, which does not exist")
            given = [self.places[name] for name in node.sources]
            if any(place is None for place in given):  # after an unsupported node
                self.places[node.name] = None
                return
            call = LayerCall(self, node, kind, options, given)
            self.places[node.name] = call.run(rule)
            return
        except SparkdlError as error:
            self.refuse(node, error)
        except MISTAKES as error:
            self.refuse(node, f"an option of the wrong kind: {error}")
        self.places[node.name] = None

    def refuse(self, node, error):
        self.refused.append(f"{node.name} ({kind_of(node)}): {error}")

    def helper(self, layer, place, name):
        """Adds a vertex that corresponds to no node."""
        free = self.free(f"{name}/{layer.type_name.lower()}")
        return self.vertex(layer, (place,), free)

    def vertex(self, layer, places, name):
        """Adds a vertex; returns its Place."""
        shapes = tuple(place.shape for place in places)
        shape = tuple(layer.out_shape(shapes if layer.multi_input else shapes[0]))
        self.build.add(layer, *(place.name for place in places), name=name)
        return Place(name=name, shape=shape)

    def last_step(self, place, name):
        """Adds vertices that take the last step of a sequence."""
        steps = place.shape[0]
        last = nn.Subset(start=steps - 1, stop=steps, axis=0)
        place = self.helper(last, place, name)
        self.rules.note(f"{name} takes the last step of the array, also where a mask is given")
        return self.vertex(nn.Reshape(shape=place.shape[1:]), (place,), self.free(name))

    def free(self, name):
        """Returns an unused vertex name."""
        return take_name(name, self.names)

    def output(self, name):
        """Returns the vertex of an output, which must not be an input."""
        if name not in self.places:
            raise DataError(f"the output {name!r} must be a vertex")
        return self.places[name] and self.places[name].name


def rule_of(node):
    """Returns (rule, kind, Options) of a node; the rule of a layer is looked up later."""
    if node.vertex == "layer":
        kind, options = object_of(node.value, "a layer", "layer")
        if kind not in RULES:
            raise UnsupportedError("a layer of this class is not supported")
        return None, kind, options
    kind, options = object_of(node.value, "a vertex", "vertex")
    if kind not in vertices.RULES:
        raise UnsupportedError("a vertex of this class is not supported")
    return vertices.RULES[kind], kind, options


def kind_of(node):
    """Returns the class name of a node, for errors."""
    value = node.value
    if isinstance(value, dict) and value:
        found = value.get("@class") or next(iter(value))
        return str(found).rpartition(".")[2][:60]
    return node.vertex
