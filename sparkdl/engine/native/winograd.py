"""Convolution by Winograd's algorithm, in one pass over blocks of image tiles.

A convolution is a product of polynomials. Here tiles of an image and the filter are evaluated at
POINTS, their values are multiplied, and the pixels of the result are interpolated from the
products, which takes a quarter of the direct convolution's multiplications for filters of 3 x 3
(Lavin and Gray 2016, arXiv:1509.09308). Tiles overlap; one has SIDE x SIDE pixels and gives `step`
x `step` pixels of the result. POINTS have small rounding errors (Barabasz et al. 2018,
arXiv:1803.10986).

```
tiles of x ──> values at POINTS ──> products with the filters' values ──> pixels of y
```

A thread does all three for one block of tiles after the other, in memory of its own.
"""

from functools import cache

import numpy as np

from sparkdl.engine.native.calls import bind
from sparkdl.engine.native.control import counting, find_team, least, module, share
from sparkdl.engine.native.llvm_code import LANES, Code
from sparkdl.engine.native.memory import load, store
from sparkdl.engine.native.operations import apply
from sparkdl.engine.native.tiles import (
    BYTES,
    IMAGE_WORDS,
    KIND,
    MEMORY_WORDS,
    TILE_WORDS,
    TileAddresses,
    image_words,
    memory_words,
)
from sparkdl.engine.native.winograd_products import NAMES as PRODUCT_NAMES
from sparkdl.engine.operands import Operand

SIDE = 6  # pixels of a tile along an axis
POSITIONS = SIDE * SIDE
POINTS = 0, 1, -1, 1 / 2, -2  # and infinity
NAMES = (  # of the function's words, see control.py
    *(
        "threads",
        "block",
        "blocks",
        "total",
        *TILE_WORDS,
        *PRODUCT_NAMES,
        "zeros",
        "waste",
        "bias",
    ),
    *(name for i in "xyz" for name in (i, *(f"{i}_{part}" for part in IMAGE_WORDS))),
    *(
        name
        for i in ("values", "results")
        for name in (i, *(f"{i}_{part}" for part in MEMORY_WORDS))
    ),
)


@cache
def matrices(step):
    """Returns (A^T, G, B^T) for filters g of SIDE + 1 - step numbers, float64.

    The convolution of SIDE numbers d is A^T [(G g) * (B^T d)], of `step` numbers.
    """
    others = [[q for q in POINTS if q != p] for p in POINTS]
    pixels, image = np.zeros((step, SIDE)), np.zeros((SIDE, SIDE))
    filters = np.zeros((SIDE, SIDE + 1 - step))
    pixels[:, :-1] = np.vander(POINTS, step, increasing=True).T
    filters[:-1] = np.vander(POINTS, SIDE + 1 - step, increasing=True)
    filters[:-1] /= [[np.prod(p - np.array(q))] for p, q in zip(POINTS, others, strict=True)]
    pixels[-1, -1] = filters[-1, -1] = 1
    image[:-1, :-1] = [np.poly(rest)[::-1] for rest in others]
    image[-1] = np.poly(POINTS)[::-1]
    return pixels, filters, image


def winograd_kernel(tiles, products, x, y, compiler, bias=None, z=None, activation=None):
    """Returns a call that fills y: activation(convolution of x + bias + z).

    Parameters
    ----------
    tiles : Tiles of y, as many per block as `products` hold
    products : PrimitiveProducts or CompiledProducts
    x, y : float32, (N, C, H, W) and (N, O, H', W'), the channels of a pixel contiguous; C and O
        are multiples of LANES
    bias : (O,), or None
    z : like y, or None
    activation : an elementwise Op, or None

    Raises
    ------
    UnsupportedError
        For activations without compiled code; when called, it or MemoryError if oneDNN fails to
        execute a product.
    """
    threads = len(products.values)
    words = tile_words(tiles, len(x) * tiles.per_image, threads) | products.words
    words |= line_words(x.shape[1], y.shape[1], bias)
    words |= array_words(tiles, products, threads, x, y, z)
    function = compiler.function(text(type(products), tiles.step, z is not None, activation))
    run = bind(function, [words[name] for name in NAMES], bytes_moved(tiles, x, y))

    def call():
        run()
        products.require_executed()

    return call


def tile_words(tiles, total, threads):
    blocks = -(-total // tiles.block)
    words = {"threads": threads, "block": tiles.block, "blocks": blocks, "total": total}
    return words | tiles.words


def line_words(channels, outputs, bias):
    """Returns the words of lines: for pixels outside the images, read and written, and the bias."""
    bias = np.zeros(outputs, KIND) if bias is None else bias
    lines = (
        ("zeros", np.zeros(channels, KIND), channels),
        ("waste", np.empty(outputs, KIND), outputs),
        ("bias", bias, outputs),
    )
    return {name: Operand(name, line, KIND, ((n, BYTES),)) for name, line, n in lines}


def array_words(tiles, products, threads, x, y, z):
    shape = len(x), *y.shape[1:]
    words = image_words("x", x, x.shape) | image_words("y", y, shape)
    words |= image_words("z", y if z is None else z, shape)
    block = threads, POSITIONS, tiles.block
    words |= memory_words("values", products.values, (*block, x.shape[1]))
    return words | memory_words("results", products.results, (*block, y.shape[1]))


def bytes_moved(tiles, x, y):
    tile = 2 * BYTES * POSITIONS * (x.shape[1] + y.shape[1])
    return len(x) * tiles.per_image * tile


@cache
def text(products, step, adds, activation):
    """Returns the function's text; `products` is their class, `adds` whether there is a z."""
    code = Code()
    at, (me, threads) = TileAddresses(code, NAMES), find_team(code)
    team = me, least(code, threads, at.word("threads"))
    begin, end = share(code, at.word("blocks"), 1, team)
    with counting(code, begin, end, 1) as block:
        first = at.integer("mul", block, at.word("block"))
        rest = at.integer("sub", at.word("total"), first)
        count = least(code, rest, at.word("block"))
        with counting(code, "0", count, 1) as index:
            evaluate(at, me, index, at.integer("add", first, index), step)
        products.emit(at, me, POSITIONS, count)
        with counting(code, "0", count, 1) as index:
            number = at.integer("add", first, index)
            interpolate(at, me, index, number, step, adds, activation)
    return module(code)


def evaluate(at, thread, index, number, step):
    """Emits the evaluation of a tile of x at POINTS."""
    code, place = at.code, at.locate(number, step, padded=True)
    pixels = at.pixels("x", place, SIDE, at.pointer("zeros"))
    values = at.positions("values", thread, index, POSITIONS)
    with counting(code, "0", at.word("x_channels"), LANES) as channel:
        numbers = (load(code, KIND, pixel, channel, None) for pixel in transposed(pixels))
        for value, result in zip(values, transform(matrices(step)[2], numbers), strict=True):
            store(code, result, value, channel, None)


def interpolate(at, thread, index, number, step, adds, activation):
    """Emits the interpolation of a tile of y; the rest as `text` takes it."""
    code = at.code
    place = at.locate(number, step, padded=False)
    pixels, terms = (
        at.pixels(name, place, step, at.pointer("waste")) for name in ("y", "z" if adds else "y")
    )
    results = at.positions("results", thread, index, POSITIONS)
    with counting(code, "0", at.word("y_channels"), LANES) as channel:
        numbers = (load(code, KIND, result, channel, None) for result in transposed(results))
        bias = load(code, KIND, at.pointer("bias"), channel, None)
        sums = [number + bias for number in transform(matrices(step)[0], numbers)]
        if adds:
            others = [load(code, KIND, term, channel, None) for term in terms]
            sums = [a + b for a, b in zip(sums, others, strict=True)]
        for pixel, result in zip(pixels, sums, strict=True):
            result = result if activation is None else apply(activation, [result], KIND)
            store(code, result, pixel, channel, None)


def transposed(square):
    """Returns a square that is given row by row column by column."""
    return [square[i + SIDE * j] for i in range(SIDE) for j in range(SIDE)]


def transform(matrix, numbers):
    """Returns matrix x square x matrix^T of a square of vectors, row by row.

    `numbers` yields the square column by column, each as late as it can: few are in registers.
    """
    numbers = iter(numbers)
    columns = [combine(matrix, [next(numbers) for _ in range(SIDE)]) for _ in range(SIDE)]
    for row in zip(*columns, strict=True):
        yield from combine(matrix, row)


def combine(matrix, vectors):
    """Returns matrix x vectors, without products by 0 and 1."""
    return [add_up(row, vectors) for row in matrix.tolist()]


def add_up(factors, vectors):
    terms = [(f, v) for f, v in zip(factors, vectors, strict=True) if f]
    terms.sort(key=lambda term: term[0] != 1)
    (factor, result), *rest = terms
    result = result if factor == 1 else result * factor
    for factor, vector in rest:
        result = add_product(result, factor, vector)
    return result


def add_product(result, factor, vector):
    if factor == 1:
        return result + vector
    return result - vector if factor == -1 else vector.fma(factor, result)
