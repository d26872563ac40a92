"""Networks from models of Deeplearning4j."""

from dataclasses import dataclass, field, replace
from typing import Any

from sparkdl.errors import SparkdlError, UnsupportedError
from sparkdl.interop.dl4j.documents import read_document
from sparkdl.interop.dl4j.graph import GraphTranslation
from sparkdl.interop.dl4j.nd4j_arrays import read_vector
from sparkdl.interop.dl4j.nodes import nodes_of
from sparkdl.interop.dl4j.normalizers import read_normalizer
from sparkdl.interop.dl4j.parameters import check_length, state_of_file, with_slots
from sparkdl.interop.translated_network import outputs_of, refuse, shapes_by_input
from sparkdl.training.network import Network

OLD = (
    "the updater of old versions sums gradients over a minibatch and divides the steps; training "
    "starts anew, with mean gradients"
)


@dataclass(frozen=True, kw_only=True)
class Dl4jNet:
    """A network that was read from a model of Deeplearning4j.

    Parameters
    ----------
    network : Network
        Its conf is a GraphConf. The file's normalizer is its `transform`, which SparkNetwork and
        predict_column apply to rows.
    outputs : tuple of str
        The layers that compute the model's outputs, in its order.
    normalizer : Transform or None
        The model's normalizer of features; pass it to a fit as `transform=`.
    notes : tuple of str
        Differences from Deeplearning4j.
    """

    network: Network
    outputs: tuple[str, ...]
    normalizer: Any = None
    notes: tuple[str, ...] = field(default=())

    def run(self, features):
        """Returns what the model's `output` does: an array (n, ...), or a list of them.

        Parameters
        ----------
        features : array (n, ...), or {input: array}
            Sequences are (n, steps, features), which Deeplearning4j has as (n, features, steps).
        """
        return outputs_of(self.network, features, self.outputs)


def read_dl4j(path, *, shapes=None, training=True, **conf):
    """Returns the Dl4jNet of a model that Deeplearning4j's ModelSerializer wrote.

    It may be a MultiLayerNetwork or a ComputationGraph, of versions 0.9 to 1.0.0-M2. No Java is
    needed, and nothing in the file is run.

    Parameters
    ----------
    path : str
        The zip, local or a URI.
    shapes : tuple of int or {input: tuple}, optional
        Shape of one example, where the model leaves it open: sequences (steps, features), images
        (channels, rows, columns).
    training : bool
        Whether to read losses, updaters and their state as well.
    conf : options of GraphConf
        optimizer, seed ...; they override those of the file.

    Raises
    ------
    UnsupportedError
        Lists all layers and options without an equivalent, before anything is computed.
    DataError
        If the file cannot be read, is damaged, or holds objects that Java serialized.
    """
    document = read_document(path)
    inputs, nodes, outputs = nodes_of(document.config)
    graph = GraphTranslation(training, conf.get("optimizer") is None)
    graph.add_inputs(inputs, nodes, shapes_by_input(shapes))
    for node in nodes:
        graph.add(node)
    names = tuple(graph.output(name) for name in outputs)
    options = options_of(graph, document)
    refuse(graph.refused, document.path)
    vector = read_vector(document.coefficients, f"{path}, coefficients.bin")
    check_length(vector, graph.taken, path)
    network = Network(graph.build.conf(**{**options, **conf}))
    network.state = state_of_file(network, graph.taken, vector)
    notes, old = graph.rules.notes, any(is_old(node.value) for node in nodes)
    if old and training:
        notes.append(OLD)
    elif training:
        network.state = replace(network.state, **counters(document))
    if graph.updaters and document.updater is not None and not old:
        state = read_vector(document.updater, f"{path}, updaterState.bin")
        network.state = with_slots(network, graph.taken, state, path)
    normalizer = normalizer_of(document, graph, notes)
    if not is_of_steps(normalizer, graph):
        network.transform = normalizer
    return Dl4jNet(network=network, outputs=names, normalizer=normalizer, notes=tuple(notes))


def options_of(graph, document):
    """Returns the training options of the network; records unsupported ones."""
    if not graph.training:
        return {}
    found, config = {}, document.config
    if str(config.get("backpropType", "Standard")).lower() == "truncatedbptt":
        found["tbptt"] = tuple(config.get(f"tbptt{way}Length") for way in ("Fwd", "Back"))
    if graph.rules.optimizer is not None:
        found["optimizer"] = graph.rules.optimizer
        try:
            found["clipping"] = graph.rules.clipping()
        except SparkdlError as error:
            graph.refused.append(str(error))
    return found


def counters(document):
    """Returns the training progress of a model: Adam's steps depend on the number of updates."""
    found = document.config.get("iterationCount", 0)
    return {"iteration": found} if type(found) is int and 0 <= found < 2**53 else {}


def is_old(layer):
    """Returns whether a layer is in the form before 1.0.0-beta4: with a short name."""
    return isinstance(layer, dict) and "@class" not in layer


def normalizer_of(document, graph, notes):
    """Returns the Transform of a normalizer, or None, explained by a note."""
    if document.normalizer is None:
        return None
    try:
        found = read_normalizer(document.normalizer, f"{document.path}, normalizer.bin")
    except UnsupportedError as error:
        notes.append(str(error))
        return None
    if is_of_steps(found, graph):
        notes.append(
            "the normalizer has a number for each feature of sequences and is left out; apply it "
            "yourself"
        )
    return found


def is_of_steps(normalizer, graph):
    """Returns whether a normalizer is for features of steps, which are the last axis here."""
    shape = next(iter(graph.build.inputs.values()))
    return normalizer is not None and len(shape) == 2 and len(normalizer.mean) > 1
