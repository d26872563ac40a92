"""Uses of data blobs, as inputs or labels."""

from functools import cached_property

LABELS = {  # indices of the bottoms that may be labels, by layer type
    "SoftmaxWithLoss": (1,),
    "MultinomialLogisticLoss": (1,),
    "InfogainLoss": (1,),
    "HingeLoss": (1,),
    "SigmoidCrossEntropyLoss": (1,),
    "EuclideanLoss": (0, 1),
    "ContrastiveLoss": (2,),
    "Accuracy": (1,),
}
DATA = {"Data", "ImageData", "HDF5Data", "MemoryData", "DummyData", "Input", "WindowData"}
DATA |= {"CoSData"}
UNUSED = {"Silence", "HDF5Output"}
RECURRENT = {"LSTM", "RNN", "LSTMUnit"}
COMPARING = {"EuclideanLoss", "SigmoidCrossEntropyLoss"}  # both bottoms have the same axes
KEEPING = {"AbsVal", "BNLL", "Clip", "ELU", "Exp", "Log", "Power", "ReLU", "Sigmoid", "Swish"}
KEEPING |= {"TanH", "Threshold", "Dropout", "PReLU", "Embed", "InnerProduct", "Eltwise", "Concat"}
KEEPING |= {"Scale", "Bias", "Slice", "Split", "Softmax", "Flatten", "Tile", *RECURRENT}


class BlobUses:
    """The layers that read the blobs of a net's data.

    Parameters
    ----------
    layers : list of LayerParameter
        In one state of the net.
    """

    def __init__(self, layers):
        self.layers = layers
        tops = dict.fromkeys(top for one in layers if one.type in DATA for top in one.top)
        self.labels = [top for top in tops if self.is_label(top)]
        self.inputs = [top for top in tops if self.is_read(top) and top not in self.labels]

    def readers(self, blob):
        """Yields (layer, index among its bottoms) of all layers that compute with a data blob."""
        for layer in self.layers:
            for place, bottom in enumerate(layer.bottom):
                if bottom == blob and layer.type == "Split":
                    for top in layer.top:
                        yield from self.readers(top)
                elif bottom == blob and layer.type not in UNUSED:
                    yield layer, place

    def is_read(self, blob):
        return any(True for _ in self.readers(blob))

    def is_used(self, blob):
        """Returns whether a layer computes with a blob or writes it."""
        return any(blob in layer.bottom and layer.type != "Silence" for layer in self.layers)

    def is_label(self, blob):
        """Returns whether all readers of a data blob use it as a label."""
        readers = list(self.readers(blob))
        return bool(readers) and all(place in label_places(layer) for layer, place in readers)

    def is_time_major(self, blob):
        """Returns whether a data blob has the step axis before the batch axis."""
        return blob in self.by_time

    @cached_property
    def by_time(self):
        """Blobs of recurrent layers, and those linked to them by layers that keep their axes."""
        sequence_blobs, before = set(), None
        for layer in self.layers:
            sequence_blobs.update(alike(layer) if layer.type in RECURRENT else ())
        while len(sequence_blobs) != before:
            before = len(sequence_blobs)
            for blobs in map(alike, self.layers):
                sequence_blobs.update(blobs if sequence_blobs.intersection(blobs) else ())
        return sequence_blobs

    def column(self, blob):
        """Returns a label's column: "labels" if there is only one, else the blob's name."""
        return "labels" if len(self.labels) == 1 else blob


def label_places(layer):
    """Returns the indices of bottoms that may be labels; compared blobs are inputs anyway."""
    compared = layer.type == "InfogainLoss" and len(layer.bottom) > 2
    return () if compared else LABELS.get(layer.type, ())


def alike(layer):
    """Returns the blobs of a layer that share their first two axes."""
    options = {"Scale": layer.scale_param, "Bias": layer.bias_param}.get(layer.type)
    if layer.type in RECURRENT:
        return [*layer.bottom[:2], *layer.top]
    if layer.type in COMPARING:
        return list(layer.bottom)
    if layer.type not in KEEPING:
        return []
    tied = layer.bottom if options is None or options.axis == 0 else layer.bottom[:1]
    return [*tied, *layer.top]
