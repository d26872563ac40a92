"""Reductions, running sums, arg max and top k."""

import numpy as np


def reduction(compute):
    """Returns the rule of compute(x, axis=..., keepdims=...).

    Axes are an input, in older opsets an attribute. Without axes, all are reduced, or none if
    `noop_with_empty_axes` is set.
    """

    def reduce(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
        given = tuple(int(axis) for axis in axes) if axes is not None else ()
        given = given or (() if noop_with_empty_axes else None)
        return np.asarray(compute(x, axis=given, keepdims=bool(keepdims))).astype(x.dtype)

    return reduce


def largest(x, **where):
    return np.max(x, initial=lowest(x.dtype), **where)


def smallest(x, **where):
    return np.min(x, initial=highest(x.dtype), **where)


def lowest(dtype):
    """Returns the least value of a dtype."""
    if dtype.kind == "b":
        return np.False_
    return np.iinfo(dtype).min if dtype.kind in "iu" else np.asarray(-np.inf, dtype)


def highest(dtype):
    if dtype.kind == "b":
        return np.True_
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.asarray(np.inf, dtype)


def log_sum_exp(x, **where):
    """Returns log(sum(exp x)) without overflow for large x."""
    top = np.max(x, axis=where["axis"], keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), **where))
    return total + top.reshape(np.shape(total))


def argument(find):
    """Returns the rule of np.argmax or np.argmin."""

    def compute(x, *, axis=0, keepdims=1, select_last_index=0):
        length = x.shape[axis]
        place = find(np.flip(x, axis) if select_last_index else x, axis=axis)
        place = length - 1 - place if select_last_index else place
        return np.expand_dims(place, axis) if keepdims else place

    return compute


def running(accumulate):
    """Returns the rule of running sums or products."""

    def compute(x, axis, *, exclusive=0, reverse=0):
        axis = int(np.reshape(axis, ()))
        x = np.flip(x, axis) if reverse else x
        y = accumulate(x, axis=axis, dtype=x.dtype)
        if exclusive:
            first = accumulate.__self__.identity
            begun = np.full_like(np.take(x, [0], axis), first)
            y = np.concatenate([begun, np.delete(y, -1, axis)], axis)
        return np.flip(y, axis) if reverse else y

    return compute


def top_k(x, k, *, axis=-1, largest=1, sorted=1):
    """Returns (values, indices) of the k largest or smallest; ties keep their order."""
    if largest:
        order = np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
        order = x.shape[axis] - 1 - order
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    places = np.take(order, np.arange(int(np.reshape(k, ()))), axis)
    return np.take_along_axis(x, places, axis), places


REDUCTIONS = {
    "ArgMax": argument(np.argmax),
    "ArgMin": argument(np.argmin),
    "CumProd": running(np.multiply.accumulate),
    "CumSum": running(np.add.accumulate),
    "ReduceL1": reduction(lambda x, **where: np.sum(np.abs(x), **where)),
    "ReduceL2": reduction(lambda x, **where: np.sqrt(np.sum(np.square(x), **where))),
    "ReduceLogSum": reduction(lambda x, **where: np.log(np.sum(x, **where))),
    "ReduceLogSumExp": reduction(log_sum_exp),
    "ReduceMax": reduction(largest),
    "ReduceMean": reduction(np.mean),
    "ReduceMin": reduction(smallest),
    "ReduceProd": reduction(np.prod),
    "ReduceSum": reduction(np.sum),
    "ReduceSumSquare": reduction(lambda x, **where: np.sum(np.square(x), **where)),
    "TopK": top_k,
}
