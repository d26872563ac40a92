"""Layers in a Keras model's config, and their calls."""

from collections import Counter
from dataclasses import dataclass, field

from sparkdl.errors import DataError, UnsupportedError
from sparkdl.interop.keras.options import Options, refuse_custom

MODELS = ("Sequential", "Functional", "Model")
MOST = 3000  # layers per model
RANDOM = ("Dropout", "Dropout1D", "Dropout2D", "Dropout3D", "GaussianNoise")  # ends of classes
DROPOUTS = ("dropout", "recurrent_dropout")  # options of layers
# Ends of classes for whose calls Keras 3 writes training=False, their default, by itself.
INFERENCE_BY_DEFAULT = (*RANDOM, "RNN", "LSTM", "GRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a layer: (layer, call, output) of each input tensor, and the arguments.

    `roles` has the names of sources given by keyword, `masks` the tensors of the keyword `mask`,
    as of sources. Keras names there the masks that it passes on by itself, too.
    """

    sources: tuple
    options: dict = field(default_factory=dict)
    roles: tuple = ()
    masks: tuple = ()

    def refuse_training(self):
        """Raises UnsupportedError for a call that trains in predictions."""
        if self.options.get("training") not in (None, False):
            raise UnsupportedError("a call with training=True is not supported")

    @property
    def is_inference(self):
        """Whether its author asked for training=False; Keras itself adds it beside a mask."""
        return self.options.get("training") is False and not self.masks


class LayerConfig:
    """A layer in a model's config.

    Parameters
    ----------
    document : dict
    calls : list of Call
    rank : int
        Its index among the layers of its model.
    """

    def __init__(self, document, calls, rank=0):
        if not isinstance(document, dict) or not isinstance(document.get("class_name"), str):
            raise DataError(f"a layer must have a class_name, got {str(document)[:80]!r}")
        self.document, self.calls, self.rank = document, calls, rank
        self.kind = document["class_name"]
        self.config = document.get("config")
        if not isinstance(self.config, dict):
            raise DataError(f"{self.kind}: a layer must have a config")
        name = document.get("name") or self.config.get("name")
        if not isinstance(name, str) or not name:
            raise DataError(f"{self.kind}: a layer must have a name, got {name!r}")
        self.name = name

    @property
    def trainable(self):
        return is_trainable(self.document)

    @property
    def is_asked(self):
        """Whether training=False in its calls is its author's word, not Keras's default."""
        return not self.kind.endswith(INFERENCE_BY_DEFAULT)

    @property
    def shape(self):
        """Shape of one example, for an input layer."""
        shape = self.config.get("batch_shape") or self.config.get("batch_input_shape")
        return tuple(shape[1:]) if isinstance(shape, list) else None

    def options(self):
        """Returns the Options without those common to all layers."""
        check_dtype(self.config.get("dtype"), self.kind)
        return Options(self.config)

    def refuse_custom(self):
        refuse_custom(self.document)


def is_trainable(document):
    """Returns whether a layer or model is flagged as trainable."""
    config = document.get("config")
    return not isinstance(config, dict) or config.get("trainable", True) is not False


def check_dtype(dtype, kind):
    """Raises UnsupportedError for dtype policies other than float32."""
    if isinstance(dtype, dict):
        config = dtype.get("config")
        dtype = config.get("name") if isinstance(config, dict) else None
    if dtype not in (None, "float32") and kind != "InputLayer":
        raise UnsupportedError(f"dtype={dtype!r} is not supported")


def class_of(document):
    """Returns the class name of a supported model."""
    kind = document.get("class_name") if isinstance(document, dict) else None
    if kind not in MODELS:
        raise UnsupportedError(f"a model must be one of {MODELS}, got {str(kind)[:80]!r}")
    refuse_custom(document)
    return kind


def is_model(kind):
    return kind in MODELS


def calls_of(document):
    """Returns (layers, [(input layer, tensor)], [tensor]) of a model's document."""
    kind = class_of(document)
    config = document.get("config")
    if isinstance(config, list):  # Keras 2.1 and earlier
        config = {"layers": config}
    if not isinstance(config, dict) or not isinstance(config.get("layers"), list):
        raise DataError(f"{kind} must have a config with layers")
    if len(config["layers"]) > MOST:
        raise DataError(f"{kind} must have at most {MOST} layers")
    return sequential(config) if kind == "Sequential" else functional(config)


def sequential(config):
    """Returns the layers, inputs and outputs of a Sequential.

    Its input is the InputLayer, or implied by the first layer.
    """
    documents = list(config["layers"])
    if not documents:
        raise DataError("Sequential must have layers")
    if not isinstance(documents[0], dict):
        raise DataError("a layer must be a mapping")
    if documents[0].get("class_name") != "InputLayer":
        documents.insert(0, implied_input(config, documents[0]))
    layers, before = [], None
    for rank, document in enumerate(documents):
        calls = [Call(sources=(before,) if before else ())]
        layers.append(LayerConfig(document, calls, rank))
        before = (layers[-1].name, 0, 0)
    first = layers[0].name, 0, 0
    layers = check_names(layers)
    return layers[1:], [(layers[0], first)], [before]


def implied_input(config, first):
    """Returns the InputLayer for a Sequential without one."""
    inside = first.get("config") if isinstance(first.get("config"), dict) else {}
    built = first.get("build_config") if isinstance(first.get("build_config"), dict) else {}
    shape = (
        inside.get("batch_input_shape")
        or inside.get("batch_shape")
        or config.get("build_input_shape")
        or built.get("input_shape")
    )
    return {"class_name": "InputLayer", "config": {"name": "features", "batch_shape": shape}}


def functional(config):
    """Returns the layers, inputs and outputs of a functional model.

    The inbound_nodes of each layer list the inputs of its calls.
    """
    layers = [LayerConfig(each, calls_in(each), i) for i, each in enumerate(config["layers"])]
    layers = check_names(layers)
    by_name = {layer.name: layer for layer in layers}
    inputs = tensors_in(config.get("input_layers"))
    outputs = tensors_in(config.get("output_layers"))
    if not inputs or not outputs:
        raise DataError("a functional model must have input_layers and output_layers")
    missing = [at[0] for at in (*inputs, *outputs) if at[0] not in by_name]
    if missing:
        raise DataError(f"a model must hold its inputs and outputs, got none called {missing}")
    called = [layer for layer in layers if layer.kind != "InputLayer"]
    outputs = [output_of(by_name[at[0]], at) for at in outputs]
    return called, [(by_name[at[0]], at) for at in inputs], outputs


def output_of(layer, at):
    """Returns an output as a call counted from 0; Keras counts those of nested models from 1."""
    name, number, index = at
    return name, number - 1 if layer.kind in MODELS[1:] and number else number, index


def check_names(layers):
    names = [layer.name for layer in layers]
    if len(set(names)) < len(names):
        [(double, _)] = Counter(names).most_common(1)
        raise DataError(f"names of layers must be unique, got {double!r} twice")
    return layers


def tensors_in(value):
    """Returns the (layer, call, output) in a nested structure of lists."""
    if is_tensor(value):
        return [tuple(value[:3])]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        raise DataError(f"inputs and outputs must be lists, got {str(value)[:80]!r}")
    return [at for one in value for at in tensors_in(one)]


def is_tensor(value):
    """Returns whether a value is [layer, call, output]."""
    return (
        isinstance(value, list)
        and len(value) >= 3
        and isinstance(value[0], str)
        and type(value[1]) is int
        and type(value[2]) is int
    )


def acts_in_training(document):
    """Returns whether a layer, or one inside, does something else in training; frozen means do."""
    if isinstance(document, list):
        return any(map(acts_in_training, document))
    if not isinstance(document, dict):
        return False
    kind = document.get("class_name")
    moves = kind == "BatchNormalization" and is_trainable(document)
    at_random = isinstance(kind, str) and (kind.endswith(RANDOM) or drops_out(document))
    return moves or at_random or any(map(acts_in_training, document.values()))


def drops_out(document):
    """Returns whether a layer, such as an LSTM or attention, has an option that drops numbers."""
    config = document.get("config")
    return isinstance(config, dict) and any(config.get(name) for name in DROPOUTS)


def calls_in(document):
    """Returns the Calls of a layer in a functional model."""
    nodes = document.get("inbound_nodes", []) if isinstance(document, dict) else []
    if not isinstance(nodes, list):
        raise DataError("inbound_nodes must be a list")
    if not nodes:
        return [Call(sources=())]
    return [new_call(node) if isinstance(node, dict) else old_call(node) for node in nodes]


def new_call(node):
    """Parses a Call of Keras 3: args and kwargs, with tensors among them."""
    args, kwargs = node.get("args", []), node.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise DataError("a call must have args and kwargs")
    found = [at for one in args for at in history(one)]
    roles = {name: history(value) for name, value in kwargs.items()}
    named = tuple((name, at) for name, ats in roles.items() for at in ats if name != "mask")
    plain = {name: value for name, value in kwargs.items() if not roles[name]}
    masks = tuple(roles.get("mask", ()))
    if masks:
        plain["mask"] = "a tensor"
    plain |= {f"argument {i}": one for i, one in enumerate(args) if not history(one)}
    sources = (*found, *(at for _, at in named))
    names = tuple(name for name, _ in named)
    return Call(sources=sources, options=plain, roles=names, masks=masks)


def history(value):
    """Returns the (layer, call, output) of the tensors in an argument."""
    if isinstance(value, list):
        return [at for one in value for at in history(one)]
    if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        config = value.get("config")
        at = config.get("keras_history") if isinstance(config, dict) else None
        if not is_tensor(at):
            raise DataError("a tensor must have a keras_history")
        return [tuple(at[:3])]
    return []


def old_call(node):
    """Parses a Call of Keras 2: a list of [layer, call, output, arguments]."""
    if is_tensor(node):  # a single tensor
        node = [node]
    if not isinstance(node, list) or not all(is_tensor(one) for one in node):
        raise DataError(f"inbound_nodes must hold tensors, got {str(node)[:80]!r}")
    options = {}
    for one in node:
        options |= one[3] if len(one) > 3 and isinstance(one[3], dict) else {}
    return Call(sources=tuple(tuple(one[:3]) for one in node), options=options)
