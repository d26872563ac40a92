"""Layers for comparisons, and for choices by them: masks, whose booleans are floats 1 and 0."""

from dataclasses import replace
from math import prod

import numpy as np

from sparkdl.interop.constant_operands import (
    FAR_BELOW_HIDDEN,
    HIDDEN,
    HIDES_BESIDE_0,
    LARGEST,
    bound_numbers,
    line,
    make_threshold,
    shape_of_example,
)
from sparkdl.interop.onnx.messages import attributes_of
from sparkdl.interop.onnx.operand_translation import (
    constant_operand,
    element_wise,
    join,
    keep,
    operand_layer,
)
from sparkdl.interop.onnx.plain_nodes import DECIDING
from sparkdl.interop.onnx.steps import BEFORE, Step
from sparkdl.nn import layers as nn

INFINITE = float(HIDDEN) / 1e5  # far above what stands for -infinity, far below other numbers
# Operations whose numbers are not those of a mask: scores, and booleans.
BOUNDED = {"Einsum", "Gemm", "MatMul", "Softmax"} | DECIDING


def flip(source=None):
    """Returns the Step of 1 - x, the opposite of booleans."""
    return Step(layer=line(scale=-1.0, shift=1.0), sources=None if source is None else (source,))


def negate(node):
    """ONNX's Not."""
    node.shape()
    return [flip()]


def intersect(node):
    """ONNX's And."""
    return constant_operand(node, "scale", trains=False) or element_wise(node, "product")


def unite(node):
    """ONNX's Or: not (not x and not y)."""
    constant = [i for i in (0, 1) if node.is_constant(i)]
    if not constant:
        shapes = node.shape(0), node.shape(1)
        joined = join(node, "product", shapes, (BEFORE - 1, BEFORE))
        return [flip(0), flip(1), *joined, flip()]
    opposite = constant_operand(node, "scale", lambda mask: 1 - mask, BEFORE, trains=False)
    return [flip(1 - constant[0]), *opposite, flip()]


def comparison(turned, flips):
    """Returns the rule of a comparison.

    Parameters
    ----------
    turned : bool
        Whether it is y > x rather than x > y.
    flips : bool
        Whether the answer is the opposite.
    """

    def translate(node):
        steps = difference(node, turned)
        return [*steps, Step(layer=make_threshold(0.0)), *([flip()] if flips else [])]

    return translate


def equal(node):
    steps = difference(node, False)
    return [*steps, Step(layer=nn.Activation("abs_val")), Step(layer=make_threshold(0.0)), flip()]


def difference(node, turned):
    """Returns the Steps of x - y, or of y - x."""
    signs = (-1.0, 1.0) if turned else (1.0, -1.0)
    constant = [i for i in (0, 1) if node.is_constant(i)]
    if not constant:
        sources, shapes = (BEFORE - 1, BEFORE), (node.shape(0), node.shape(1))
        own = [Step(layer=line(scale=s), sources=(i,)) for i, s in enumerate(signs)]
        return [*own, *join(node, "add", shapes, sources)]
    [at], x = constant, 1 - constant[0]
    node.need(np.isfinite(node.constant(at)).all(), "comparing with an infinite number")
    first = Step(layer=line(scale=signs[x]), sources=(x,))

    def signed(values):
        return signs[at] * bound_numbers(values)

    return [first, *constant_operand(node, "shift", signed, BEFORE, trains=False)]


def where(node):
    """Chooses by booleans: a constant mask fills, a computed one keeps each part."""
    if not node.is_computed(0):
        return fill(node)
    mask, computed = node.shape(0), [i for i in (1, 2) if node.is_computed(i)]
    if len(computed) == 2:
        return of_two(node, mask)
    if not computed:
        return of_numbers(node, mask)
    [x] = computed
    shape = node.shape(x)
    value = number_of(node, 3 - x, np.broadcast_shapes(mask, shape))
    opposite = [] if x == 1 else [flip(0)]
    kept = [*opposite, *keep(node, (mask, shape), (BEFORE if opposite else 0, x))]
    if value == 0:
        return kept
    filled = number_where(value, chosen=x == 2)
    shapes = np.broadcast_shapes(mask, shape), mask
    return [*kept, filled, *join(node, "add", shapes, (BEFORE - 1, BEFORE))]


def number_of(node, index, shape):
    """Returns the one number that a constant input has throughout, at most as wide as `shape`."""
    value = node.constant(index)
    alike = value.size > 0 and (value == value.flat[0]).all()
    node.need(alike, "a choice between numbers and others than one")
    example = value.shape[value.ndim > len(shape) :]
    fits = len(example) <= len(shape) and np.broadcast_shapes(example, shape) == tuple(shape)
    node.need(fits, f"a constant of shape {value.shape} in a choice of {tuple(shape)}")
    return float(value.flat[0])


def number_where(value, chosen):
    """Returns the Step of a number where a mask is 1, or where it is 0; elsewhere of exactly 0."""
    value = float(bound_numbers(np.float32(value)))
    return Step(
        layer=line(scale=value) if chosen else line(scale=-value, shift=value), sources=(0,)
    )


def of_numbers(node, mask):
    """Returns the Steps of a choice between two constants."""
    yes, no = (number_of(node, i, mask) for i in (1, 2))
    parts = [number_where(yes, chosen=True), number_where(no, chosen=False)]
    added = Step(layer=nn.ElementWise(operation="add"), sources=(BEFORE - 1, BEFORE))
    return parts[:1] if no == 0 else [*parts, added]


def of_two(node, mask):
    """Returns the Steps of a choice between two computed inputs."""
    x, y = node.shape(1), node.shape(2)
    sums = [np.broadcast_shapes(mask, shape) for shape in (x, y)]
    first, second = keep(node, (mask, x), (0, 1)), keep(node, (mask, y), (BEFORE, 2))
    back = BEFORE - 1 - len(second)
    return [*first, flip(0), *second, *join(node, "add", sums, (back, BEFORE))]


def fill(node):
    """Replaces the numbers that a constant mask chooses by a constant."""
    computed = [i for i in (1, 2) if node.is_computed(i)]
    node.need(len(computed) == 1, "a constant choice between computed inputs")
    [x] = computed
    keeps, other, shape = (node.constant(0) != 0) == (x == 1), node.constant(3 - x), node.shape(x)
    filled = np.where(keeps, np.float32(0), bound_numbers(other))
    fits = shape_of_example(filled, shape) is not None
    node.need(fits, f"a choice of shape {filled.shape} with an example of {tuple(shape)}")
    if keeps.all():
        return [Step(layer=nn.Activation("identity"), sources=(x,))]
    hides = other.max() <= HIDES_BESIDE_0
    node.need(other.size == 1 or hides, "a choice between numbers and others than one")
    steps = keep_constant(node, keeps, x)
    if not filled.any():
        return steps
    layer, weights = operand_layer(node, filled, shape, "shift", trains=False)
    return [*steps, Step(layer=layer, weights=weights)]


def keep_constant(node, keeps, x):
    """Returns the Steps of input x where a constant mask is true; elsewhere of 0."""
    mask = shape_of_example(keeps.astype(np.float32), node.shape(x))
    layer = nn.Frozen(layer=nn.Learned(shape=mask.shape))
    first = Step(layer=layer, weights={"W": mask}, sources=(x,))
    return [first, *keep(node, (mask.shape, node.shape(x)), (BEFORE, x))]


def hides_all(node):
    """Returns 1 for rows of scores that a mask hides altogether, whose softmax is NaN in the file.

    The node has the scores as its input. HIDDEN stands for minus infinity there, far below LOWEST,
    the least finite number but for those of inputs, which may be far below HIDDEN.
    """
    shape = node.shape()
    return [
        Step(layer=make_threshold(INFINITE)),
        Step(layer=line(scale=-1.0), sources=(0,)),
        Step(layer=make_threshold(FAR_BELOW_HIDDEN)),
        Step(layer=nn.ElementWise(operation="add"), sources=(BEFORE - 2, BEFORE)),
        Step(layer=nn.Reduce(operation="sum", axis=len(shape) - 1)),
        Step(layer=nn.Reshape(shape=(*shape[:-1], 1))),
        Step(layer=line(scale=-1.0)),
        Step(layer=make_threshold(-0.5)),
    ]


def scores_of(node, graph):
    """Returns IsNaN of a softmax as a node on the scores, which are finite here.

    It may only choose, as its answer has one column for all of a row.
    """
    readers = {other.op_type for other in graph.node if node.outputs[0] in other.input}
    made = [other for other in graph.node if node.inputs[0] in other.output]
    fits = readers == {"Where"} and [other.op_type for other in made] == ["Softmax"]
    node.need(fits, "IsNaN of others than a softmax")
    softmax = replace(node, inputs=tuple(made[0].input), attributes=attributes_of(made[0]))
    last = len(softmax.any_shape()) - 1
    node.need(softmax.axis(softmax.attributes.get("axis", -1)) == last, "IsNaN of columns")
    largest = largest_sum(softmax.inputs[0], node.constants, graph)
    node.need(largest <= LARGEST, "IsNaN of finite masks whose sum may be infinite")
    return replace(softmax, attributes={})


def largest_sum(name, constants, graph):
    """Returns a bound on the finite numbers that constants add to a tensor of the graph."""
    needed, chain, found = {name}, [], {}
    for made in reversed(graph.node):  # readers stand behind makers
        if needed.intersection(made.output):
            chain.append(made)
            needed.update(() if made.op_type in BOUNDED else made.input)
    for made in reversed(chain):
        read = [] if made.op_type in BOUNDED else made.input
        sizes = [
            largest_of(constants[each]) if each in constants else found.get(each, 0.0)
            for each in read
        ]
        found |= dict.fromkeys(made.output, BOUNDS.get(made.op_type, max)(sizes) if sizes else 0.0)
    return found.get(name, 0.0)


def largest_of(values):
    """Returns the largest of the finite numbers, regardless of their signs; integers are small."""
    if values.dtype.kind != "f":
        return 0.0
    return float(np.abs(values).max(initial=0, where=np.isfinite(values)))


def largest_product(sizes):
    return prod(max(1.0, size) for size in sizes)


BOUNDS = {"Add": sum, "Mul": largest_product, "Sub": sum, "Sum": sum}  # others: the largest
CHOICE_RULES = {
    "And": intersect,
    "Equal": equal,
    "Greater": comparison(turned=False, flips=False),
    "GreaterOrEqual": comparison(turned=True, flips=True),
    "IsNaN": hides_all,
    "Less": comparison(turned=True, flips=False),
    "LessOrEqual": comparison(turned=False, flips=True),
    "Not": negate,
    "Or": unite,
    "Where": where,
}
