"""Parts of TensorBoard's events: scalars, a graph, the mark of a restart.

tensorboardX is imported by whoever calls these, so that a fit without it needs none of them.
"""

FRAME = 34  # bytes of an event beside its summary, at most, with steps below 250 million


def graph_of(conf):
    """Returns the event of a graph: a node for each input and each layer of a network."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.proto.graph_pb2 import GraphDef
    from tensorboardX.proto.versions_pb2 import VersionDef

    inputs = [node(name, "input", (), shape) for name, shape in conf.input_shapes.items()]
    layers = [
        node(place.name, place.layer.type_name, place.sources, place.out_shape)
        for place in conf.stack
    ]
    graph = GraphDef(node=[*inputs, *layers], versions=VersionDef(producer=22))
    return Event(graph_def=graph.SerializeToString())


def node(name, kind, sources, shape):
    """Returns a NodeDef with the shape of what it gives for a minibatch."""
    from tensorboardX.proto.attr_value_pb2 import AttrValue
    from tensorboardX.proto.node_def_pb2 import NodeDef
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

    sizes = [TensorShapeProto.Dim(size=size) for size in (-1, *shape)]
    shapes = AttrValue.ListValue(shape=[TensorShapeProto(dim=sizes)])
    attributes = {"_output_shapes": AttrValue(list=shapes)}
    return NodeDef(name=name, op=kind, input=list(sources), attr=attributes)


def summary_of(scalars):
    """Returns the scalars of one update, {tag: number}, as one summary."""
    from tensorboardX.proto.summary_pb2 import Summary

    values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
    return Summary(value=values)


def bytes_of(summary):
    """Returns what a summary takes in the file: with its time, step, length and checksums."""
    return summary.ByteSize() + FRAME


def scalars_of_layers(report):
    """Returns {tag: number} of a LayerReport; an array whose ratio is not known has none."""
    ratios = {f"update_ratio/{name}": one.ratio for name, one in report.arrays.items()}
    dead = {f"dead_units/{name}": some / units for name, (some, units) in report.dead.items()}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None} | dead


def restart_at():
    """Returns the event after which earlier ones of its step and later steps do not count."""
    from tensorboardX.proto.event_pb2 import Event, SessionLog

    return Event(session_log=SessionLog(status=SessionLog.START))
