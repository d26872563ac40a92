"""Translation of a Caffe net to a graph: the vertex and shape of each blob."""

from dataclasses import replace
from math import prod

from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.caffe.graphs.sharing import SharedParameters
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.names import name_of
from sparkdl.nn import Permute, Reshape, StopGradient, Unstack, Vertex
from sparkdl.nn.networks.placement import shape_after


class Translation:
    """The state of a translation: the layers translated so far.

    Layers are translated in order; each reads existing blobs and adds new ones. After an in-place
    change, a blob stands for that layer's output. Shapes are those of one example, so Caffe's axis
    1 comes first.

    Parameters
    ----------
    uses : Uses
        Uses of the data blobs.
    phase : int
        Phase of a NetState.
    shapes : {blob: shape of one example}
        For data whose layers do not give the shape.
    l1, l2 : float
        Decay of the solver; in Caffe it applies to all parameters, including biases.
    specs : {name: ParamSpec}
        Merged settings of shared parameters; see `collect_specs`.
    apart : set of str
        Names of weights that are shared without their biases; see `weights_apart`.

    Attributes
    ----------
    inputs : {blob: shape} of the graph
    vertices : list of Vertex
    data : list of Data
    scores : list of Score
    written : list of WrittenBlobs
    """

    def __init__(self, uses, phase, shapes=None, l1=0.0, l2=0.0, specs=None, apart=()):
        self.uses, self.phase, self.shapes = uses, phase, dict(shapes or {})
        self.l1, self.l2, self.specs, self.apart = l1, l2, specs or {}, apart
        self.inputs, self.vertices = {}, []
        self.data, self.scores, self.written = [], [], []
        self._blobs, self._shared = {}, SharedParameters()  # {blob: (input or vertex, shape)}
        self._labels = {}  # {blob: column}
        self.parameters = set()  # learned blobs without a batch axis
        self.of_batch = {}  # {blob with one number per batch: how it was reduced}
        self.sequences = set()  # blobs whose step axis precedes the batch axis in Caffe
        self.single = set()  # blobs of one number per example, with only the batch axis
        self.stacked = {}  # {blob: number of batches concatenated in it}
        self.chosen = {}  # {output blob of a Filter: the vertex that says which examples it has}

    @property
    def blobs(self):
        """{blob: the input or vertex that computes it} at the end of the net."""
        return {blob: source for blob, (source, _) in self._blobs.items()}

    @property
    def stacked_blobs(self):
        """Blobs that concatenate several batches."""
        return {blob for blob, count in self.stacked.items() if count != 1}

    def shape(self, blob):
        """Returns the shape of one example of a blob."""
        return self._of(blob)[1]

    def source(self, blob):
        """Returns the input or vertex that computes a blob."""
        return self._of(blob)[0]

    def axis(self, blob, axis, what="axis", behind=False):
        """Converts Caffe's axis of a blob to an axis of one example.

        Parameters
        ----------
        behind : bool
            Whether following axes are included, which then must not be the batch axis either.

        Raises
        ------
        ConfigError
            If the blob has no such axis.
        UnsupportedError
            If it is the batch axis.
        """
        shape = self.shape(blob)
        rank, batch = len(shape) + 1, self.batch_axis(blob)
        positive = axis + rank if axis < 0 else axis
        if not 0 <= positive < rank:
            raise ConfigError(f"{what} must be an axis of {shape} after the batch, got {axis}")
        if positive == batch or (behind and positive < batch):
            raise UnsupportedError(
                f"{what} must be an axis of {shape} after the batch, got {axis}, which mixes "
                "examples, but each is computed by itself"
            )
        return positive - (positive > batch)

    def batch_axis(self, blob):
        """Returns Caffe's batch axis: 1 for sequences, whose steps come first, else 0."""
        return int(blob in self.sequences)

    def is_batch(self, blob, axis):
        """Returns whether Caffe's axis of a blob is the batch axis."""
        rank = len(self.shape(blob)) + 1
        return (axis + rank if axis < 0 else axis) == self.batch_axis(blob)

    def column(self, blob):
        """Returns the data column of a label blob; None for other blobs."""
        return self._labels.get(blob)

    def _of(self, blob):
        if blob in self._labels:
            raise ConfigError(f"labels can be read by losses and Accuracy only, got {blob!r}")
        if blob not in self._blobs and any(score.blob == blob for score in self.scores):
            raise ConfigError(
                f"{blob!r} must not be read by a layer: it is one number for the whole batch"
            )
        if blob not in self._blobs:
            raise ConfigError(f"no earlier layer outputs the blob {blob!r}")
        return self._blobs[blob]

    def give(self, blob, shape):
        """Adds an input blob from the data."""
        self.inputs[blob] = tuple(shape) or (1,)  # one number per example becomes a row of one
        self._blobs[blob] = blob, self.inputs[blob]
        self.mark(self.single, blob, not shape)
        if self.uses.is_time_major(blob):
            self.sequences.add(blob)

    def give_labels(self, blob, column):
        """Adds a label blob from the data."""
        self._labels[blob] = column

    def alias(self, top, bottom):
        """Makes a blob an alias of another."""
        if bottom in self._labels:
            self._labels[top] = self._labels[bottom]
        else:
            self._blobs[top] = self._of(bottom)
            self._inherit(top, [bottom])

    def add(self, layer, new_layer, bottoms=None, top=None, name=None, **sharing):
        """Adds a sparkdl layer in place of a Caffe layer.

        Parameters
        ----------
        layer : LayerParameter
        new_layer : Layer
        bottoms : blobs that it reads; by default those of `layer`
        top : blob that it computes; by default the first of `layer`
        name : name of the vertex; by default that of `layer`
        sharing : see `add_output`
        """
        output = self.add_output(layer, new_layer, bottoms, name, **sharing)
        top = top or (layer.top[0] if layer.top else output[0])
        self._blobs[top] = output
        self._inherit(top, layer.bottom if bottoms is None else bottoms)

    def add_output(self, layer, new_layer, bottoms=None, name=None, shares=None, specs=None):
        """Works as `add`, for a layer without a top blob; returns its vertex and shape.

        Parameters
        ----------
        shares : vertex whose parameters it uses, its own or another's; by default the one that the
            names of the parameters give
        specs : ParamSpecs of the parameters; by default those of `layer`
        """
        name = name or name_of(layer)
        bottoms = list(layer.bottom) if bottoms is None else bottoms
        sources, shapes = zip(*map(self._of, bottoms), strict=True)
        sources = [self._stop_gradient(layer, bottom, s) for bottom, s in zip(bottoms, sources)]
        new_layer = replace(new_layer, name=name)
        shape = tuple(shapes) if new_layer.multi_input else as_read(new_layer, shapes[0])
        if shares is None:
            owner = self._shared.owner(specs, layer, new_layer, shape, name)
        else:
            owner = next(one.shares or one.name for one in self.vertices if one.name == shares)
        self.vertices.append(Vertex(name=name, layer=new_layer, inputs=sources, shares=owner))
        return name, shape_after(new_layer, shape, " and ".join(bottoms))

    def is_turned(self, layer, new_layer):
        """Works as `SharedParameters.is_turned`."""
        return self._shared.is_turned(layer, new_layer)

    def by_channel(self, blob):
        """Returns a blob's name.

        Raises UnsupportedError if axis 1, the channel axis, is the batch axis.
        """
        if blob in self.sequences:
            raise UnsupportedError(
                f"{blob!r} must have its channels along axis 1, got sequences (steps, batch, ...)"
            )
        return blob

    def one_batch(self, blob):
        """Returns a blob's name.

        Raises UnsupportedError if it concatenates several batches.
        """
        if self.stacked.get(blob, 1) != 1:
            raise UnsupportedError(
                f"{blob!r} must be one batch, got {self.stacked[blob]} that a Concat along the "
                "batch axis has joined; a Slice along it separates them"
            )
        return blob

    def part(self, blob):
        """Returns the vertices of the batches concatenated in a blob."""
        count = self.stacked[blob]
        names = tuple(f"{blob}/{index}" for index in range(count))
        for index, name in enumerate(names):
            self.add(LayerParameter(), Unstack(index=index, count=count), [blob], name, name)
        return names

    def _inherit(self, top, bottoms):
        """Propagates the known properties of input blobs to an output blob."""
        self.stacked[top] = self._batches(bottoms)
        self.mark(self.sequences, top, bottoms[0] in self.sequences)
        self.mark(self.single, top, bottoms[0] in self.single)
        self.mark(self.parameters, top, self.parameters.issuperset(bottoms))
        chosen = [self.chosen[blob] for blob in bottoms if blob in self.chosen]
        if chosen:
            self.chosen[top] = chosen[0]

    @staticmethod
    def mark(blobs, blob, holds):
        """Adds a blob to a set, or removes it."""
        (blobs.add if holds else blobs.discard)(blob)

    def _batches(self, blobs):
        """Returns how many batches are concatenated in each of these blobs, which must agree."""
        counts = {self.stacked.get(blob, 1) for blob in blobs}
        if len(counts) != 1:
            raise UnsupportedError(f"{list(blobs)} must have equal numbers of examples")
        return counts.pop()

    def add_by_channel(self, layer, new_layer):
        """Works as `add`, for a layer with channels on the first axis, as in images.

        With two axes, sparkdl's layer would take the last for the channels.
        """
        bottom, top = self.by_channel(layer.bottom[0]), layer.top[0]
        shape = self.shape(bottom)
        if len(shape) != 2:
            return self.add(layer, new_layer, [bottom])
        wide = self.reshape_blob(layer, bottom, (*shape, 1), "images")
        self.add(layer, new_layer, [wide])
        self.reshape_top(layer, shape, top)

    def units_in_place(self, layer, bottom, axis):
        """Returns a blob with `axis` moved to sparkdl's axis of units: first for images, else last.

        Returns
        -------
        blob, order of the axes or None if unchanged
        """
        rank = len(self.shape(bottom))
        at = 0 if rank > 2 else rank - 1
        if axis == at:
            return bottom, None
        rest = [i for i in range(rank) if i != axis]
        order = (axis, *rest) if rank > 2 else (*rest, axis)
        blob = f"{name_of(layer)}/turned"
        self.add(layer, Permute(order=order), [bottom], blob, blob)
        return blob, order

    def reshape_blob(self, layer, bottom, shape, why):
        """Adds a reshape of a blob; returns the new blob."""
        blob = f"{name_of(layer)}/{why}"
        self.add(layer, Reshape(shape=shape), [bottom], blob, blob)
        return blob

    def reshape_top(self, layer, shape, top=None):
        """Adds a reshape of the output of `layer`."""
        top = top or layer.top[0]
        name = f"{name_of(layer)}/{top}/shape"
        self.add(LayerParameter(), Reshape(shape=shape), [top], top, name)

    def _stop_gradient(self, layer, bottom, source):
        """Returns `source`, after a StopGradient if the layer does not propagate down to it."""
        wanted = dict(zip(layer.bottom, layer.propagate_down))
        if wanted.get(bottom, True):
            return source
        stop = f"{name_of(layer)}/{bottom}/stop"
        if all(vertex.name != stop for vertex in self.vertices):
            self.vertices.append(Vertex(name=stop, layer=StopGradient(), inputs=source))
        return stop


def as_read(new_layer, shape):
    """Returns the shape as the sparkdl layer sees it: flat if it takes rows."""
    return (prod(shape),) if new_layer.takes_rows and len(shape) > 2 else shape
