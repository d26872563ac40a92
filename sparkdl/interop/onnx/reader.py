"""Networks from ONNX files."""

from dataclasses import dataclass
from typing import ClassVar

from onnx import TensorProto

from sparkdl.errors import ConfigError, ShapeError, SparkdlError, UnsupportedError, text_of
from sparkdl.interop.onnx.choice_translation import scores_of
from sparkdl.interop.onnx.folding import Constants
from sparkdl.interop.onnx.laid_shapes import FIRST, FLOATS, TYPES, Place, axes_of, lay, place_of
from sparkdl.interop.onnx.messages import attributes_of, opset_of, read_model
from sparkdl.interop.onnx.narrow_numbers import NarrowNumbers
from sparkdl.interop.onnx.nodes import OnnxNode
from sparkdl.interop.onnx.plain_nodes import has_bits, has_rows, of_rows, plain_node
from sparkdl.interop.onnx.shared_constants import SharedConstants
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.interop.onnx.translation import RULES
from sparkdl.interop.translated_network import state_with
from sparkdl.nn import GraphBuilder
from sparkdl.nn import layers as nn
from sparkdl.training.network import Network


@dataclass(frozen=True, kw_only=True)
class OnnxNet:
    """A network that was read from an ONNX file.

    Parameters
    ----------
    network : Network
        Its conf is a GraphConf; training needs an output layer, which the file does not have.
    outputs : {output of the file: name of its layer}
    """

    network: Network
    outputs: dict[str, str]
    pads: ClassVar[bool] = False  # see NetworkPredictor

    def run(self, features):
        """Returns {output: array (n, ...)} for features (n, ...), or {input: features}."""
        if isinstance(features, dict) and len(features) == 1:
            [features] = features.values()
        layers = self.network.features(features, list(dict.fromkeys(self.outputs.values())))
        return {name: layers[layer] for name, layer in self.outputs.items()}


def read_onnx(path, shape=None, **options):
    """Returns the OnnxNet of a file whose inputs are 32-bit floats, integers or booleans.

    Integers are looked up in tables, compared or counted; booleans choose and make masks. Networks
    of 16-bit floats only look integers up. Constants of the file become parameters that are
    trained, except single numbers and masks, as of attention. A constant that several nodes of one
    operation read alike is one parameter, unless all its numbers are equal; layers of other
    operations get copies, which a warning names. The first axis of each input and output is the
    batch. Several inputs read columns of their names; a single input reads "features".

    Parameters
    ----------
    path : str
        Local or a URI.
    shape : tuple of int, or {input: tuple of int}, optional
        Shape of one example, where the file leaves it open.
    options : of GraphConf (optimizer, l2, seed ...)

    Raises
    ------
    UnsupportedError
        Lists all nodes without an equivalent layer, each with its reason, before anything is
        computed.
    DataError
        If the file cannot be read, or is damaged.
    """
    model = read_model(path)
    translation = GraphTranslation(model, path, shape, options.get("dtype", "float32"))
    for node in model.graph.node:
        if not translation.read.isdisjoint(node.output):
            translation.add(node)
    return translation.net(options)


class GraphTranslation:
    """The layers, weights and shapes translated so far."""

    def __init__(self, model, path, shape, dtype):
        self.graph, self.path = model.graph, path
        self.constants = Constants(self.graph, path, opset_of(model, path))
        self.build = GraphBuilder()
        self.shapes = self.input_shapes(shape)
        self.build.inputs = {name: tuple(shape) for name, shape in self.shapes.items()}
        self.places = {name: name for name in self.shapes}
        self.weights, self.refused = {}, []
        self.bits = self.inputs_of(TensorProto.BOOL)
        counted = self.inputs_of(TensorProto.INT32, TensorProto.INT64)
        self.numbers = NarrowNumbers(dtype, counted, {*self.shapes})
        self.shared = SharedConstants()
        self.read = read_tensors(self.graph)

    def input_shapes(self, shape):
        """Returns {input: shape of one example}."""
        inputs = [value for value in self.graph.input if value.name not in self.constants]
        given = shape if isinstance(shape, dict) else {value.name: shape for value in inputs}
        names = [value.name for value in inputs]
        if not names or not given.keys() <= set(names):
            raise ConfigError(f"{self.path}: shape must be of inputs among {names}, got {shape}")
        return {value.name: self.input_shape(value, given.get(value.name)) for value in inputs}

    def inputs_of(self, *types):
        """Returns the names of the inputs that have one of these types."""
        inputs = [value for value in self.graph.input if value.name in self.shapes]
        return {value.name for value in inputs if value.type.tensor_type.elem_type in types}

    def input_shape(self, value, given):
        """Returns the shape of an input's example, from the file or from `given`."""
        kind = value.type.tensor_type.elem_type
        if kind not in TYPES:
            names = dict(map(reversed, TensorProto.DataType.items()))
            raise UnsupportedError(
                f"{self.path}: input {value.name} must be of "
                f"{', '.join(names[known] for known in TYPES)}, got {names.get(kind, kind)}; "
                "OnnxFunction takes others"
            )
        axes = value.type.tensor_type.shape.dim
        shape = tuple(given or (axis.dim_value for axis in axes[1:]))
        if len(axes) < 2 or len(shape) != len(axes) - 1 or min(shape) < 1:
            axes = [axis.dim_param or axis.dim_value for axis in axes]
            raise ConfigError(
                f"{self.path}: shape must be that of an example of {value.name} {axes}; give it"
            )
        return lay(shape, Place(kind=TYPES[kind]))

    def add(self, proto):
        """Adds the layers of a node, or notes why it has none."""
        try:
            self.translate(proto)
        except (SparkdlError, LookupError, ValueError, TypeError) as error:
            self.refused.append(
                f"{proto.name or proto.output[0]} ({proto.op_type}): {text_of(error)}"
            )

    def translate(self, proto):
        node = OnnxNode(
            op=proto.op_type,
            inputs=tuple(proto.input),
            outputs=tuple(name if name in self.read else "" for name in proto.output),
            attributes=attributes_of(proto),
            constants=self.constants,
            of_batch=self.constants.of_batch,
            shapes=self.shapes,
            bits=self.bits,
            readers=self.constants.readers,
        )
        standard = proto.domain in ("", "ai.onnx")
        if standard and self.constants.take(node, proto):
            return
        known = standard and node.op in RULES
        node.need(known, f"the operation {proto.domain or 'ai.onnx'}.{node.op}")
        node.need_inputs()
        if has_rows(node):
            plain, place = node, place_of(node.any_shape())
            steps = of_rows(RULES[node.op], node)
        else:
            plain, place = plain_node(scores_of(node, self.graph) if node.op == "IsNaN" else node)
            steps = RULES[node.op](plain)
        if not steps and not self.alias(node):
            steps = [Step(layer=nn.Activation("identity"), place=place_of(node.any_shape()))]
        steps = self.numbers.fit(node, steps, place or steps[-1].place) if steps else steps
        made = []
        read = tuple(filter(self.constants.is_trained, node.inputs))
        for at, step in enumerate(steps):
            sources = step.sources or ((BEFORE,) if at else (0,))
            given = [made[i] if i < 0 else self.known(plain.inputs[i]) for i in sources]
            made.append(self.place(step, given, (node.op, at, read)))
            if step.output is not None and node.outputs[step.output]:
                self.note(node.outputs[step.output], *made[-1], step.place)
        self.bits.update(node.outputs if has_bits(node) else ())
        if steps and steps[-1].output is None:
            name = next(filter(None, node.outputs))
            self.note(name, *made[-1], place or steps[-1].place)

    def alias(self, node):
        """Maps a node's output to the layer of its input; returns whether there is such a layer."""
        name, source = next(filter(None, node.outputs)), node.inputs[0]
        if source in self.build.inputs:
            return False
        self.places[name], self.shapes[name] = self.places[source], self.shapes[source]
        return True

    def note(self, name, layer, shape, place):
        """Records the layer and shape of a tensor."""
        self.places[name], self.shapes[name] = layer, lay(shape, place)

    def known(self, name):
        """Returns (layer, shape of an example) of a tensor."""
        return self.places[name], tuple(self.shapes[name])

    def place(self, step, given, key):
        """Adds a layer that reads the given (layer, shape) pairs; returns its own pair.

        `key` identifies the operation and the constants that its arrays come from.
        """
        sources, shapes = zip(*given, strict=True)
        shape = step.layer.out_shape(shapes if step.layer.multi_input else shapes[0])
        self.check_weights(step, shapes[0])
        shares = self.shared.owner_of(key, step)
        name = self.build.add(step.layer, *sources, shares=shares)
        if step.weights and shares is None:
            self.weights |= {(name, kind): value for kind, value in step.weights.items()}
            self.shared.note(key, step, name, self.constants.origins_of(*key[-1]))
        return name, shape

    @staticmethod
    def check_weights(step, shape):
        if not step.weights:
            return
        ours = step.layer.param_shapes(shape) | step.layer.buffer_shapes(shape)
        theirs = {name: value.shape for name, value in step.weights.items()}
        if ours != theirs:
            raise ShapeError(f"weights must have the shapes {ours}, got {theirs}")

    def net(self, options):
        """Returns the OnnxNet; UnsupportedError if any node was refused."""
        names = [value.name for value in self.graph.output]
        given = self.places.keys() - self.build.inputs.keys()
        lost = [name for name in names if name not in given] if not self.refused else []
        reasons = [*self.refused, *(f"{name}: an output that no node computes" for name in lost)]
        reasons += [f"{name}: {why}" for name in names if (why := self.why_no_output(name))]
        if reasons:
            lines = "\n  ".join(reasons)
            raise UnsupportedError(f"{self.path} has nodes without a layer:\n  {lines}")
        self.shared.warn(self.path)
        network = Network(self.build.conf(**options))
        weights = ((f"{layer}/{name}", value) for (layer, name), value in self.weights.items())
        network.state = state_with(network, weights)
        return OnnxNet(network=network, outputs={name: self.places[name] for name in names})

    def why_no_output(self, name):
        """Returns why a network cannot have a tensor as an output; None if it can."""
        shape = self.shapes.get(name)
        place = place_of(shape)
        if place == FIRST:
            return None
        if place.kind != FLOATS:
            return "an output of integers or booleans; cast it to floats in the file"
        if len(axes_of(shape)) == 1:
            return "an output without an axis beside the batch; keep one of length 1 in the file"
        return "an output whose first axis is not the batch"


def read_tensors(graph):
    """Returns the names of the tensors that a graph's outputs depend on."""
    read = {value.name for value in graph.output}
    for node in reversed(graph.node):
        if not read.isdisjoint(node.output):
            read.update(node.input)
    return read
