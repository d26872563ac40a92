"""Networks from Keras models."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from sparkdl.errors import ConfigError
from sparkdl.interop.keras.documents import read_document
from sparkdl.interop.keras.graph import GraphTranslation
from sparkdl.interop.keras.optimizers import with_slots
from sparkdl.interop.keras.training import Compiled, read_training
from sparkdl.interop.keras.weights import read_arrays
from sparkdl.interop.translated_network import outputs_of, refuse, shapes_by_input, state_with
from sparkdl.training.network import Network

IMAGES = ("channels_last", "channels_first")


@dataclass(frozen=True, kw_only=True)
class KerasNet:
    """A network that was read from a Keras model.

    Parameters
    ----------
    network : Network
        Its conf is a GraphConf. It trains and predicts where the model was compiled with a loss;
        else it has no output layer.
    outputs : tuple of str
        The layers that compute the model's outputs, in its order.
    metrics : tuple of str
        Names of the metrics that the model was compiled with; `evaluate` chooses its own.
    notes : tuple of str
        Differences from Keras, mostly in training.
    """

    network: Network
    outputs: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    pads: ClassVar[bool] = False  # see NetworkPredictor

    def run(self, features):
        """Returns what the model's `predict` does: an array (n, ...), or a list of them.

        Parameters
        ----------
        features : array (n, ...), or {input: array}
        """
        return outputs_of(self.network, features, self.outputs)


def read_keras(model, weights=None, *, shapes=None, images="channels_last", compiled=True, **conf):
    """Returns the KerasNet of a Keras 2 or 3 model; neither Keras nor TensorFlow is needed.

    Parameters
    ----------
    model : str or keras.Model
        A .keras or .h5 file, local or a URI; a .json file, or the text that `to_json` gave; or a
        model itself, which is saved to a temporary folder.
    weights : str, optional
        A .weights.h5 or .h5 file, for JSON. None: initial weights.
    shapes : tuple of int or {input: tuple}, optional
        Shape of one example, in Keras's layout, if the model leaves it open.
    images : str
        Layout of input images: "channels_last", as in Keras, or "channels_first", as from sparkdl's
        readers. Outputs have Keras's layout.
    compiled : bool
        Whether to read the loss, the optimizer and its state as well.
    conf : options of GraphConf
        optimizer, seed ...; they override the model's compile settings.

    Raises
    ------
    UnsupportedError
        Lists all layers and options without an equivalent, before anything is computed.
    DataError
        If the file cannot be read, or is damaged.
    """
    if images not in IMAGES:
        raise ConfigError(f"read_keras.images must be one of {IMAGES}, got {images!r}")
    document = document_of(model, weights)
    graph = GraphTranslation(document.version, shapes_by_input(shapes), images)
    places = graph.model(document.config)
    training = document.training if compiled else None
    found = Compiled()
    if not graph.refused:
        outputs = [graph.plain_output(place) for place in places]
        found = read_training(training, graph, outputs, graph.output_names, conf)
    refuse([*graph.refused, *found.refused], document.path)
    arrays = None
    if document.weights is not None:  # before values are drawn: sizes may be false
        arrays = read_arrays(document.weights, document.path, graph.taken)
    network = Network(graph.build.conf(**{**found.options, **conf}))
    if arrays is not None:
        read = zip(graph.taken, arrays, strict=True)
        graph.values |= {f"{one.vertex}/{one.ours}": array for one, array in read if one.ours}
    if graph.values:
        network.state = state_with(network, graph.values.items())
    if arrays is not None and "optimizer" in found.options:
        network.state = with_slots(network, document, graph.taken, found.notes)
    return KerasNet(
        network=network,
        outputs=tuple(found.outputs),
        metrics=tuple(found.metrics),
        notes=(*found.notes, *graph.notes, *note_masked_steps(graph, places)),
    )


def note_masked_steps(graph, places):
    """Returns notes on outputs that differ from Keras's at masked steps."""
    if all(place.filled for place in places):
        return []
    names = ", ".join(dict.fromkeys(graph.unlike))
    return [f"outputs differ at masked steps, where {names} gives other numbers than in Keras"]


def document_of(model, weights):
    """Returns the KerasDocument of a path, a text or a live model."""
    if hasattr(model, "get_config") and hasattr(model, "save"):
        return saved(model)
    return read_document(model, weights)


def saved(model):
    """Returns the document of a live model, saved by the user's own Keras."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = f"{folder}/model.keras"
        model.save(path)
        document = replace(read_document(path), path="the model")
    if isinstance(document.training, dict) and "loss" in document.training:
        complete(document.training["loss"], getattr(model, "loss", None))
    return document


def complete(document, loss):
    """Adds the options of losses that Keras does not save, such as Huber's delta, to a document."""
    if isinstance(document, dict) and "class_name" in document:
        options = document.get("config")
        if isinstance(options, dict):
            document["config"] = (getattr(loss, "_fn_kwargs", None) or {}) | options
    elif isinstance(document, dict) and isinstance(loss, dict):
        for name, one in document.items():
            complete(one, loss.get(name))
    elif isinstance(document, list) and isinstance(loss, list | tuple):
        for one, own in zip(document, loss, strict=False):
            complete(one, own)
