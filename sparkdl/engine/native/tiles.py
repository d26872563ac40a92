"""Addresses in channels-last images that are processed tile by tile.

Words of a kernel have names here. Those of images `x` are `x`, its address, and `x_images`,
`x_rows`, ...; those of memory `m` for the numbers of a block of tiles are `m`, `m_threads`, ...
"""

from dataclasses import dataclass

from sparkdl.engine.native.control import FIRST, pointer, word
from sparkdl.engine.native.llvm_code import Code
from sparkdl.engine.operands import Operand

KIND, BYTES = "float32", 4
# Strides are in bytes.
IMAGE_WORDS = [
    "images",
    "rows",
    "pixels",
    "height",
    "width",
    "channels",
]  # three strides, three sizes
MEMORY_WORDS = ["threads", "positions", "tiles"]  # strides
TILE_WORDS = ["per_image", "across", "top", "left"]


@dataclass(frozen=True)
class Tiles:
    """The tiles of each image, and how they are split into blocks.

    Parameters
    ----------
    step : pixels from one tile to the next along an axis
    before : the padding above and left of the image
    down, across : tiles along the axes of an image
    block : tiles per block
    """

    step: int
    before: tuple
    down: int
    across: int
    block: int

    @property
    def per_image(self):
        return self.down * self.across

    @property
    def words(self):
        values = self.per_image, self.across, *self.before
        return dict(zip(TILE_WORDS, values, strict=True))


def image_words(name, x, shape):
    """Returns the words of images (N, C, H, W) of this shape by name."""
    strides = x.strides[0], *x.strides[2:]
    axes = zip(shape, (strides[0], BYTES, *strides[1:]), strict=True)
    parts = zip(IMAGE_WORDS, (*strides, *shape[2:], shape[1]), strict=True)
    return name_words(name, parts) | {name: Operand(name, x, KIND, tuple(axes))}


def memory_words(name, array, shape):
    """Returns the words of memory (threads, positions, tiles, channels) of this shape by name."""
    strides = array.strides[:-1]
    axes = zip(shape, (*strides, BYTES), strict=True)
    parts = zip(MEMORY_WORDS, strides, strict=True)
    return name_words(name, parts) | {name: Operand(name, array, KIND, tuple(axes))}


def name_words(name, parts):
    return {f"{name}_{part}": value for part, value in parts}


@dataclass(frozen=True)
class TileAddresses:
    """Emits the addresses of tiles.

    Parameters
    ----------
    code : the function
    names : of its words
    """

    code: Code
    names: tuple

    def word(self, name):
        return word(self.code, FIRST + self.names.index(name))

    def pointer(self, name):
        return pointer(self.code, FIRST + self.names.index(name))

    def integer(self, name, a, b):
        return self.code.define(f"{name} i64 {a}, {b}")

    def shift(self, base, *offsets):
        """Returns an address plus offsets: (number, stride in bytes)."""
        for number, stride in offsets:
            base = self.code.pointer(base, "i8", self.integer("mul", stride, number))
        return base

    def locate(self, number, step, padded):
        """Returns (image, row, column) of a tile's first pixel, negative within the padding."""
        image = self.integer("udiv", number, self.word("per_image"))
        rest = self.integer("urem", number, self.word("per_image"))
        places = []
        for part, before in (("udiv", "top"), ("urem", "left")):
            place = self.integer("mul", self.integer(part, rest, self.word("across")), step)
            places.append(self.integer("sub", place, self.word(before)) if padded else place)
        return image, *places

    def pixels(self, name, place, side, other):
        """Returns the addresses of side x side pixels; those outside the image are `other`."""
        image, *first = place
        start = self.shift(self.pointer(name), (image, self.word(f"{name}_images")))
        rows = self.along(first[0], side, self.word(f"{name}_height"))
        columns = self.along(first[1], side, self.word(f"{name}_width"))
        strides = self.word(f"{name}_rows"), self.word(f"{name}_pixels")
        places = []
        for row, in_rows in rows:
            begin = self.shift(start, (row, strides[0]))
            for column, in_columns in columns:
                pixel = self.shift(begin, (column, strides[1]))
                inside = self.code.define(f"and i1 {in_rows}, {in_columns}")
                places.append(self.code.define(f"select i1 {inside}, ptr {pixel}, ptr {other}"))
        return places

    def along(self, first, side, size):
        """Returns (index, whether it is inside) of places along an axis."""
        indices = [self.integer("add", first, i) for i in range(side)]
        return [(index, self.code.define(f"icmp ult i64 {index}, {size}")) for index in indices]

    def positions(self, name, thread, number, count):
        """Returns the addresses of a tile's numbers at `count` positions, in a thread's memory."""
        strides = [self.word(f"{name}_{part}") for part in MEMORY_WORDS]
        start = self.shift(self.pointer(name), (thread, strides[0]), (number, strides[2]))
        return [self.shift(start, (i, strides[1])) for i in range(count)]

    def numbers(self, name, thread, position):
        """Returns the address of a position's numbers in a thread's memory."""
        strides = (self.word(f"{name}_{part}") for part in MEMORY_WORDS)
        places = zip((thread, position), strides, strict=False)
        return self.shift(self.pointer(name), *places)
