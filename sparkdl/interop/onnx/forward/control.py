"""Subgraphs: branches, loops and scans."""

from itertools import count

import numpy as np
from onnx import TensorProto, helper

from sparkdl.errors import UnsupportedError

MOST_TURNS = 2**17


def branch(condition, *, then_branch, else_branch, scope):
    chosen = then_branch if bool(np.reshape(condition, ())) else else_branch
    return tuple(chosen.run(scope, ()))


def loop(most=None, condition=None, *carried, body, scope):
    """Returns the carried values, then the other outputs of all iterations, stacked."""
    n, carried, found = len(carried), list(carried), []
    goes_on = True if condition is None else bool(np.reshape(condition, ()))
    turns = count() if most is None else range(int(np.reshape(most, ())))
    for turn in turns:
        if not goes_on:
            break
        if turn == MOST_TURNS:
            raise UnsupportedError(f"a Loop of more than {MOST_TURNS} turns is not supported")
        flag, *results = body.run(scope, (np.array(turn, np.int64), np.array(True), *carried))
        goes_on, carried = bool(np.reshape(flag, ())), results[:n]
        found.append(results[n:])
    types = body.output_types[1 + n :]
    return (*carried, *stacked(found, types, [0] * len(types)))


def scan(
    *inputs,
    body,
    num_scan_inputs,
    scan_input_axes=None,
    scan_input_directions=None,
    scan_output_axes=None,
    scan_output_directions=None,
    scope,
):
    """Returns the final states, then the outputs of all steps, stacked."""
    n = len(inputs) - num_scan_inputs
    states, given = list(inputs[:n]), inputs[n:]
    axes = scan_input_axes or [0] * len(given)
    backwards = scan_input_directions or [0] * len(given)
    steps = [np.moveaxis(x, axis, 0) for x, axis in zip(given, axes, strict=True)]
    steps = [x[::-1] if back else x for x, back in zip(steps, backwards, strict=True)]
    found = []
    for parts in zip(*steps, strict=True):
        results = body.run(scope, (*states, *parts))
        states = results[:n]
        found.append(results[n:])
    types = body.output_types[n:]
    zeros = [0] * len(types)
    backwards = scan_output_directions or zeros
    return (*states, *stacked(found, types, scan_output_axes or zeros, backwards))


def stacked(rows, types, axes, backwards=None):
    """Stacks the columns of rows of arrays, each along an axis for the rows."""
    if not rows:
        return [without_rows(kind, axis) for kind, axis in zip(types, axes, strict=True)]
    backwards = backwards or [0] * len(axes)
    return [
        np.stack(list(column)[:: -1 if back else 1], axis)
        for column, axis, back in zip(zip(*rows, strict=True), axes, backwards, strict=True)
    ]


def without_rows(kind, axis):
    """Returns an array without rows; its other axes are those of a TensorProto's type, or 0."""
    lengths = [max(length.dim_value, 0) for length in kind.shape.dim]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type or TensorProto.FLOAT)
    return np.moveaxis(np.zeros((0, *lengths), dtype), 0, axis)


def sequence_map(sequence, *more, body, scope):
    """Applies the body to each element of a list; returns lists of its outputs."""
    rows = [
        body.run(scope, (x, *(each[at] if isinstance(each, list) else each for each in more)))
        for at, x in enumerate(sequence)
    ]
    return tuple([row[place] for row in rows] for place in range(len(body.outputs)))


CONTROL = {"If": branch, "Loop": loop, "Scan": scan, "SequenceMap": sequence_map}
