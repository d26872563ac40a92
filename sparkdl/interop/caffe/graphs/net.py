"""Caffe's nets as graphs."""

from dataclasses import dataclass, replace

from sparkdl.config import suggestion
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.graphs.graph_translation import Translation
from sparkdl.interop.caffe.layers import LAYERS
from sparkdl.interop.caffe.layers.counts import check_counts
from sparkdl.interop.caffe.layers.data import Data
from sparkdl.interop.caffe.layers.losses import add_weighted_losses
from sparkdl.interop.caffe.layers.scores import Score, WrittenBlobs
from sparkdl.interop.caffe.messages.origin import Origin, name_errors
from sparkdl.interop.caffe.messages.prototxt import parse_text, text_of
from sparkdl.interop.caffe.messages.schema import LayerParameter, NetParameter, NetState
from sparkdl.interop.caffe.nets.blob_uses import BlobUses
from sparkdl.interop.caffe.nets.names import by_name, number_layers, rename_input_clashes
from sparkdl.interop.caffe.nets.param_specs import collect_specs, weights_apart
from sparkdl.interop.caffe.nets.phases import layers_in_state, state_of
from sparkdl.interop.caffe.nets.upgrade import upgrade_net
from sparkdl.nn import GraphConf


@dataclass(frozen=True, kw_only=True)
class CaffeNet:
    """A net in one NetState.

    Parameters
    ----------
    name : str
    conf : GraphConf
        Vertices have the names of Caffe's layers.
    data : tuple of Data
        Its layers of data.
    scores : tuple of Score
        Scores to compute on test data.
    written : tuple of WrittenBlobs
        Blobs to write to files.
    outputs : tuple of str
        Blobs that no layer reads, which Caffe shows in a test, in layer order.
    blobs : {blob: the input or vertex that computes it at the end}
    stacked : {blob: the vertices that compute its batches}
        For outputs that concatenate several batches.
    layers : {name: LayerParameter}
        In the form of Caffe 1.0.
    """

    name: str
    conf: GraphConf
    data: tuple[Data, ...]
    scores: tuple[Score, ...]
    written: tuple[WrittenBlobs, ...]
    outputs: tuple[str, ...]
    blobs: dict[str, str]
    stacked: dict[str, tuple[str, ...]]
    layers: dict[str, LayerParameter]


def read_net(path, phase="TRAIN", level=0, stages=(), shapes=None, **options):
    """Returns the GraphConf of a net in a text file, local or a URI.

    Losses become outputs. Labels are read from the column "labels" where there is one kind of them,
    else from columns named like their blobs. Losses that Caffe divides by the first axis of their
    blob are, for sequences (steps, batch, ...), divided by the steps.

    Parameters
    ----------
    phase : str
        "TRAIN" or "TEST".
    level : int
    stages : sequence of str
    shapes : {blob: shape of one example}, optional
        Of data whose layers do not say. Layers of an LMDB that is there do, by its first record.
    options : of GraphConf (optimizer, l2, seed ...)

    Raises
    ------
    ConfigError, ShapeError, UnsupportedError
        For what Caffe does not know or sparkdl has not; names file, line and layer.
    DataError
        If the file cannot be read.

    Examples
    --------
    >>> read_net("lenet.prototxt", shapes={"data": (1, 28, 28)}).parameter_count  # doctest: +SKIP
    431080
    """
    return load_net(path, state_of(phase, level, stages), shapes, **options).conf


def load_net(given, state, shapes=None, origin=None, **options):
    """Returns the CaffeNet of a text file or a NetParameter; see `read_net`.

    Parameters
    ----------
    given : path or NetParameter
    state : NetState
        Added to the state that the net itself states.
    origin : Origin, optional
        Where a NetParameter comes from, for errors.
    """
    if isinstance(given, NetParameter):
        return translate_net(given, state, shapes, origin or Origin("the net"), options)
    text = text_of(given)
    return translate_net(
        parse_text(text, NetParameter, given), state, shapes, Origin(given, text), options
    )


def translate_net(message, state, shapes, origin, options):
    """Returns the CaffeNet of a NetParameter."""
    any_state = NetState()
    any_state.CopyFrom(message.state)
    any_state.MergeFrom(state)
    with name_errors(origin.path):
        layers = list(upgrade_net(message).layer)
    layers, places = layers_in_state(layers, origin.places(message, layers), any_state)
    layers = number_layers(layers)
    uses, decay = BlobUses(layers), {kind: options.get(kind, 0.0) for kind in ("l1", "l2")}
    specs = {}
    for layer, place in zip(layers, places, strict=True):
        with name_errors(place):
            collect_specs(specs, layer)
    apart = weights_apart(layers)
    net = Translation(uses, any_state.phase, shapes, specs=specs, apart=apart, **decay)
    for layer, place in zip(rename_input_clashes(layers, uses.inputs), places, strict=True):
        with name_errors(place):
            function_of(layer)(layer, net)
            add_weighted_losses(layer, net)
    outputs = outputs_of(layers)
    stacked = {blob: net.part(blob) for blob in outputs if blob in net.stacked_blobs}
    with name_errors(origin.path):
        if not net.vertices:
            raise ConfigError("the net has no layers in this state")
        conf = GraphConf(inputs=net.inputs, vertices=net.vertices, **options)
    columns = {blob: column for column, blob in conf.feature_columns.items()}
    return CaffeNet(
        name=message.name,
        conf=conf,
        data=tuple(
            replace(one, columns=one.columns | keep_keys(columns, one.shapes)) for one in net.data
        ),
        scores=tuple(net.scores),
        written=tuple(net.written),
        outputs=outputs,
        blobs=keep_keys(net.blobs, tops_of(layers) - net.stacked_blobs),
        stacked=stacked,
        layers=by_name(layers),
    )


def outputs_of(layers):
    """Returns the blobs that no layer reads."""
    left = {}
    for layer in layers:
        for bottom in layer.bottom:
            left.pop(bottom, None)
        left |= dict.fromkeys(layer.top)
    return tuple(left)


def tops_of(layers):
    return {top for layer in layers for top in layer.top}


def keep_keys(mapping, keys):
    return {key: value for key, value in mapping.items() if key in keys}


def function_of(layer):
    """Returns the function that translates a layer of this type."""
    if layer.type not in LAYERS:
        raise ConfigError(
            f"the type must be one of {', '.join(sorted(LAYERS))}, "
            f"got {layer.type!r}{suggestion(layer.type, LAYERS, '')}"
        )
    check_counts(layer)
    return LAYERS[layer.type]
