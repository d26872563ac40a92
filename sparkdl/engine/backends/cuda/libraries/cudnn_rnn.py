"""Recurrent layers by cuDNN: all steps of an LSTM or GRU in one call, its gradient in two."""

from ctypes import byref, c_size_t, c_void_p
from dataclasses import dataclass, replace
from itertools import product

from sparkdl.engine.backends.cuda.libraries import cudnn_rnn_api as api
from sparkdl.engine.backends.cuda.libraries.cudnn_rnn_api import RnnDescriptor, check, ints
from sparkdl.errors import DeviceError, UnsupportedError

BASE = 1 << 32  # never dereferenced: only offsets from it are used
GATES = {  # our blocks in cuDNN's order
    "LSTM": (0, 1, 2, 3),  # i, f, g, o in both
    "GRU": (1, 0, 2),  # cuDNN's r, u, o are u, r, o here
}


def load_adapter(driver):
    """Returns the adapter for a device.

    Raises UnsupportedError if the library is missing or does not start, MemoryError if it has no
    memory to start.
    """
    try:
        return CudnnRnn(driver, api.library())
    except DeviceError as error:
        raise UnsupportedError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The parameters that cuDNN needs for stacked layers.

    Parameters
    ----------
    mode : "LSTM", or "GRU" with the reset gate after the product
    kind : numpy type of all its arrays
    n, steps, features, units : lengths
    layers : number of layers
    tf32 : whether float32 factors may be rounded to TF32
    """

    mode: str
    kind: str
    n: int
    steps: int
    features: int
    units: int
    layers: int = 1
    tf32: bool = False


@dataclass(frozen=True)
class WeightPiece:
    """The position, in numbers, of blocks of a layer's wx, wh or b in cuDNN's weight vector.

    A matrix is transposed there: a row for each unit of each block.
    """

    layer: int
    name: str
    first: int
    count: int
    offset: int
    size: int

    def continues(self, before):
        """Returns whether it directly follows `before`, in our blocks and in cuDNN's vector."""
        same = (self.layer, self.name) == (before.layer, before.name)
        follows = before.first + before.count, before.offset + before.size
        return same and follows == (self.first, self.offset)


class CudnnRnn:
    """An adapter of Libraries.

    Parameters
    ----------
    driver : Driver, whose device is current for the calling thread
    library : see cudnn_rnn_api
    """

    def __init__(self, driver, library):
        self.driver, self.library, self.layers = driver, library, {}
        self.handle = c_void_p()
        check(library, library.cudnnCreate(byref(self.handle)))

    @property
    def name(self):
        version = self.library.cudnnGetVersion()
        return f"cuDNN's RNN {version // 10_000}.{version // 100 % 100}.{version % 100}"

    def layer(self, cell):
        """Returns the RnnLayer of a Cell; UnsupportedError if cuDNN has none, or MemoryError."""
        if cell not in self.layers:
            try:
                self.layers[cell] = RnnLayer(self, cell)
            except DeviceError as error:
                raise UnsupportedError(str(error)) from None
        return self.layers[cell]


class RnnLayer:
    """A Cell with its cuDNN descriptors.

    Parameters
    ----------
    weights : size of the weight vector
    pieces : its WeightPieces, in order
    reserve : bytes that the forward pass saves for the gradient
    work : {INFERENCE or TRAINING: workspace bytes}
    """

    def __init__(self, adapter, cell):
        self.adapter, self.library, self.handle = adapter, adapter.library, adapter.handle
        self.cell, kind, n = cell, api.TYPES[cell.kind], cell.n
        self.rnn, state = self.describe(kind), (cell.layers, n, cell.units)
        self.x, self.y = self.sequences(kind, cell.features), self.sequences(kind, cell.units)
        strides = ints((n * cell.units, cell.units, 1))
        words = "TensorDescriptor", "cudnnSetTensorNdDescriptor", kind, 3, ints(state), strides
        self.state = RnnDescriptor(self.library, *words)
        self.itemsize = 4 if cell.kind == "float32" else 2
        size = c_size_t()
        self.ask("cudnnGetRNNWeightSpaceSize", byref(size))
        self.bytes, self.weights = size.value, -(-size.value // self.itemsize)
        self.pieces = tuple(merge_pieces(self.blocks()))
        self.work, self.reserve = {}, 0
        for mode in (api.INFERENCE, api.TRAINING):
            work, reserve = c_size_t(), c_size_t()
            words = mode, self.x.pointer, byref(work), byref(reserve)
            self.ask("cudnnGetRNNTempSpaceSizes", *words)
            self.work[mode], self.reserve = work.value, reserve.value

    def describe(self, kind):
        cell, narrow = self.cell, self.cell.kind != "float32"
        math = api.DEFAULT_MATH if cell.tf32 else api.FMA_MATH
        bias = api.SINGLE_INP_BIAS if cell.mode == "LSTM" else api.DOUBLE_BIAS
        return RnnDescriptor(
            self.library, "RNNDescriptor", "cudnnSetRNNDescriptor_v8",
            api.ALGO_STANDARD, api.MODES[cell.mode], bias, api.UNIDIRECTIONAL, api.LINEAR_INPUT,
            kind, api.TYPES["float32"], api.TENSOR_OP_MATH if narrow else math,
            cell.features, cell.units, cell.units, cell.layers, None, api.PADDED_IO_ENABLED,
        )  # fmt: skip

    def sequences(self, kind, width):
        cell = self.cell
        lengths = ints([cell.steps] * cell.n)
        words = kind, api.BATCH_MAJOR_UNPACKED, cell.steps, cell.n, width, lengths, None
        return RnnDescriptor(self.library, "RNNDataDescriptor", "cudnnSetRNNDataDescriptor", *words)

    def ask(self, name, *words):
        status = getattr(self.library, name)(self.handle, self.rnn.pointer, *words)
        check(self.library, status)

    def blocks(self):
        """Yields a WeightPiece for each block of each parameter."""
        cell, gates = self.cell, GATES[self.cell.mode]
        any_shape = [
            RnnDescriptor(
                self.library, "TensorDescriptor", "cudnnSetTensorNdDescriptor",
                api.TYPES[self.cell.kind], 3, ints((1, 1, 1)), ints((1, 1, 1)),
            )
            for _ in range(2)
        ]  # fmt: skip
        for layer, number in product(range(cell.layers), range(2 * len(gates))):
            matrix, bias, recurrent = c_void_p(), c_void_p(), number >= len(gates)
            of_matrix, of_bias = (one.pointer for one in any_shape)
            words = layer, self.bytes, BASE, number, of_matrix, byref(matrix), of_bias, byref(bias)
            self.ask("cudnnGetRNNWeightParams", *words)
            block = gates[number % len(gates)]
            rows = cell.units if recurrent or layer else cell.features
            name = "wh" if recurrent else "wx"
            yield WeightPiece(layer, name, block, 1, self.place(matrix), cell.units * rows)
            if not recurrent:
                yield WeightPiece(layer, "b", block, 1, self.place(bias), cell.units)
            elif cell.mode == "GRU" and block == 2:  # o has another bias, inside the reset gate
                yield WeightPiece(layer, "b", 3, 1, self.place(bias), cell.units)

    def place(self, address):
        return (address.value - BASE) // self.itemsize

    def forward(self, training, arrays, scratch, stream):
        x, weights, states, y, last, reserve = arrays
        mode = api.TRAINING if training else api.INFERENCE
        (h, hy), (c, cy) = zip(pair(states), pair(last), strict=True)
        self.run(
            "cudnnRNNForward", stream, mode, None, self.x.pointer, x.address,
            self.y.pointer, y.address, self.state.pointer, h, hy, self.state.pointer, c, cy,
            self.bytes, weights.address, *room(self.work[mode], scratch),
            *((reserve.nbytes, reserve.address) if training else (0, None)),
        )  # fmt: skip

    def backward(self, arrays, scratch, stream):
        """Computes the gradients of x and states, then adds the weights' gradients to gweights."""
        gy, glast, x, weights, states, y, reserve, gx, gweights, gstates = arrays
        (h, gh, gh0), (c, gc, gc0) = zip(pair(states), pair(glast), pair(gstates), strict=True)
        tail = *room(self.work[api.TRAINING], scratch), reserve.nbytes, reserve.address
        self.run(
            "cudnnRNNBackwardData_v8", stream, None, self.y.pointer, y.address, gy.address,
            self.x.pointer, gx.address, self.state.pointer, h, gh, gh0,
            self.state.pointer, c, gc, gc0, self.bytes, weights.address, *tail,
        )  # fmt: skip
        self.run(
            "cudnnRNNBackwardWeights_v8", stream, api.WGRAD_MODE_ADD, None, self.x.pointer,
            x.address, self.state.pointer, h, self.y.pointer, y.address,
            self.bytes, gweights.address, *tail,
        )  # fmt: skip

    def run(self, name, stream, *words):
        check(self.library, self.library.cudnnSetStream(self.handle, stream))
        self.ask(name, *words)


def pair(arrays):
    """Returns the addresses of h and c, None as c of a GRU."""
    addresses = [a.address for a in arrays]
    return (*addresses, None)[:2]


def room(size, scratch):
    return (size, scratch.memory.address) if size else (0, None)


def merge_pieces(blocks):
    """Merges adjacent blocks of one parameter."""
    row = []
    for piece in sorted(blocks, key=lambda p: p.offset):
        if row and piece.continues(row[-1]):
            last = row.pop()
            piece = replace(last, count=last.count + 1, size=last.size + piece.size)
        row.append(piece)
    return row
