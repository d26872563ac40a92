"""TensorBoard events: scalars, images, a graph, the mark of a restart, and their file.

These functions import tensorboardX when called, so that a fit without TensorBoard does not need it.
"""

import base64
import os
import struct
import time

FLUSH = 5.0  # seconds between two flushes for readers
FRAME = 34  # maximum bytes of an event besides its summary, with steps below 250 million


class EventFile:
    """A new file of events in a folder, written synchronously.

    tensorboardX's own writer sends each event through a pipe to a thread of this process, which
    took 0.5 ms per round.
    """

    def __init__(self, folder):
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.record_writer import directory_check

        directory_check(folder)
        self._file, self._flushed = EventsWriter(os.path.join(folder, "events")), 0.0

    def add(self, event, step=0):
        """Writes an event, with the current time."""
        event.wall_time, event.step = time.time(), int(step)
        self._file.write_event(event)
        if event.wall_time > self._flushed + FLUSH:
            self._file.flush()
            self._flushed = event.wall_time

    def add_summary(self, summary, step=0):
        from tensorboardX.proto.event_pb2 import Event

        self.add(Event(summary=summary), step)

    def close(self):
        self._file.close()


def graph_of(conf):
    """Returns the event of a graph with a node for each input and layer of a network."""
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
    """Returns a NodeDef with the shape of its output for a minibatch."""
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


def images_of(examples):
    """Returns a summary of the WrongExamples that have a picture, the most wrong first."""
    from tensorboardX.proto.summary_pb2 import Summary, SummaryMetadata

    values = []
    for place, example in enumerate(examples, 1):
        if example.image:
            words = f"{example.truth}, predicted {example.prediction}, loss {example.loss:.4g}"
            about = SummaryMetadata(display_name=f"most wrong, {place}", summary_description=words)
            image = Summary.Image(**image_of(example.image))
            values.append(Summary.Value(tag=f"most_wrong/{place}", image=image, metadata=about))
    return Summary(value=values)


def image_of(uri):
    """Returns the fields of a Summary.Image from the data URI of a PNG file with 8 bits per
    channel.
    """
    content = base64.b64decode(uri.partition(",")[2])
    width, height, _, color = struct.unpack_from(">IIBB", content, 16)  # the IHDR chunk
    channels = {0: 1, 2: 3}[color]
    return {
        "width": width,
        "height": height,
        "colorspace": channels,
        "encoded_image_string": content,
    }


def bytes_of(summary):
    """Returns the bytes of a summary in the file, with its time, step, length and checksums."""
    return summary.ByteSize() + FRAME


def scalars_of_layers(report):
    """Returns {tag: number} of a LayerReport, without unknown ratios."""
    ratios = {f"update_ratio/{name}": one.ratio for name, one in report.arrays.items()}
    dead = {f"dead_units/{name}": some / units for name, (some, units) in report.dead.items()}
    return {name: ratio for name, ratio in ratios.items() if ratio is not None} | dead


def restart_at():
    """Returns the event that makes TensorBoard ignore earlier events from its step on."""
    from tensorboardX.proto.event_pb2 import Event, SessionLog

    return Event(session_log=SessionLog(status=SessionLog.START))
