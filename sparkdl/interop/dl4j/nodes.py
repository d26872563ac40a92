"""Layers and vertices of a configuration, in the order of their parameters."""

from dataclasses import dataclass, field

from sparkdl.errors import DataError
from sparkdl.interop.dl4j.objects import object_of

INPUT = "features"


@dataclass(frozen=True, kw_only=True)
class Node:
    """A layer or another vertex.

    Parameters
    ----------
    name : str
    vertex : str
        Its kind: "layer", "merge" and so on.
    value : dict
        The layer or vertex in the file's JSON.
    sources : tuple of str
    conf : dict
        Training settings given beside the layer.
    before : dict or None
        Preprocessor of its input.
    """

    name: str
    vertex: str
    value: dict
    sources: tuple
    conf: dict = field(default_factory=dict)
    before: dict | None = None


def nodes_of(config):
    """Returns (names of inputs, nodes, names of outputs) of a configuration."""
    if "confs" in config:
        return chain(config)
    if "vertices" in config:
        return graph(config)
    raise DataError(
        "configuration.json must be of a MultiLayerNetwork or a ComputationGraph, "
        f"got {sorted(config)[:5]}"
    )


def chain(config):
    """Returns the inputs, nodes and outputs of a MultiLayerNetwork."""
    before = of_kind(config.get("inputPreProcessors") or {}, dict, "inputPreProcessors")
    nodes, source, names = [], INPUT, {INPUT}
    for i, conf in enumerate(of_kind(config["confs"], list, "confs")):
        layer = of_kind(of_kind(conf, dict, "a layer").get("layer"), dict, "a layer")
        name = name_of(layer) or f"layer{i}"
        name = f"{name}_{i}" if name in names else name
        names.add(name)
        nodes.append(
            Node(
                name=name,
                vertex="layer",
                value=layer,
                sources=(source,),
                conf=conf,
                before=before.get(str(i)),
            )
        )
        source = name
    if not nodes:
        raise DataError("confs must hold a layer, got none")
    return (INPUT,), nodes, (source,)


def name_of(layer):
    """Returns a layer's own name, or None."""
    inner = layer if "@class" in layer or len(layer) != 1 else next(iter(layer.values()))
    name = inner.get("layerName") if isinstance(inner, dict) else None
    return name if isinstance(name, str) and name else None


def graph(config):
    """Returns the inputs, nodes and outputs of a ComputationGraph."""
    vertices = of_kind(config["vertices"], dict, "vertices")
    sources = of_kind(config.get("vertexInputs"), dict, "vertexInputs")
    inputs, outputs = (texts(config.get(f"network{end}")) for end in ("Inputs", "Outputs"))
    if not inputs or not outputs or set(vertices) & set(inputs):
        raise DataError(f"a ComputationGraph must have inputs and outputs, got {inputs}, {outputs}")
    reads = {name: texts(sources.get(name)) for name in vertices}
    order = config.get("topologicalOrderStr") or order_of(inputs, reads)
    order = [name for name in texts(order) if name not in inputs]
    if sorted(order) != sorted(vertices):
        raise DataError("topologicalOrderStr must name each vertex once")
    return inputs, [node(name, vertices[name], reads[name]) for name in order], outputs


def node(name, value, sources):
    kind, options = object_of(value, "a vertex", "vertex")
    if kind != "layer":
        return Node(name=name, vertex=kind, value=value, sources=sources)
    conf = of_kind(options.take("layerconf"), dict, "layerConf")
    return Node(
        name=name,
        vertex="layer",
        value=conf.get("layer"),
        sources=sources,
        conf=conf,
        before=options.take("preprocessor"),
    )


def order_of(inputs, reads):
    """Returns all names in topological order, first in, first out, as the file's writer does."""
    readers = {name: [] for name in (*inputs, *reads)}
    for name, sources in reads.items():
        for source in dict.fromkeys(sources):
            if source not in readers:
                raise DataError(f"{name} reads {source!r}, which does not exist")
            readers[source].append(name)
    left = {name: len(set(sources)) for name, sources in reads.items()}
    queue = [*inputs, *(name for name, count in left.items() if not count)]
    for name in queue:  # extended in the loop
        for reader in readers[name]:
            left[reader] -= 1
            if not left[reader]:
                queue.append(reader)
    if len(queue) != len(readers):
        raise DataError("vertices must have no cycle")
    return queue


def of_kind(value, kind, what):
    if not isinstance(value, kind):
        raise DataError(f"{what} must be a JSON {kind.__name__}, got {str(value)[:80]!r}")
    return value


def texts(value):
    """Returns a list of strings as a tuple; () for None."""
    value = [] if value is None else of_kind(value, list, "names")
    if not all(isinstance(one, str) for one in value):
        raise DataError(f"names must be texts, got {str(value)[:80]}")
    return tuple(value)
