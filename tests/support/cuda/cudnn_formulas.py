"""Formulas of cuDNN in numpy, which share nothing with sparkdl.

An error in sparkdl's reference is so not confirmed by itself.
"""

import numpy as np


def taps(filters, windows, out):
    """(place in the filter, slices of the padded image that it meets), for each number of one."""
    for at in np.ndindex(*filters[2:]):
        steps = zip(at, windows["stride"], windows["dilation"], out[2:], strict=True)
        yield at, tuple(slice(i * d, i * d + (n - 1) * s + 1, s) for i, s, d, n in steps)


def padded(image, windows):
    around = zip(windows["pre_padding"], windows["post_padding"], strict=True)
    return np.pad(image, ((0, 0), (0, 0), *around))


def in_groups(x, axis, groups):
    """x with an axis cut in two: groups, and what is in one."""
    return x.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])


def windowed(image, weight, windows):
    """y[n, o, p] = sum over c, k of w[o, c, k] x[n, c, s p + d k - pad], each group by itself."""
    groups, wide = image.shape[1] // weight.shape[1], padded(image, windows)
    filters, y = in_groups(weight, 0, groups), 0
    sizes = zip(wide.shape[2:], weight.shape[2:], windows["stride"], windows["dilation"])
    shape = len(image), len(weight), *((n - (k - 1) * d - 1) // s + 1 for n, k, s, d in sizes)
    for at, window in taps(weight.shape, windows, shape):
        x = in_groups(wide[(..., *window)], 1, groups)
        y = y + np.einsum("goc,ngc...->ngo...", filters[(..., *at)], x)
    return y.reshape(shape)


def back_to_image(loss, weight, shape, windows):
    """Each y's gradient, times the filter's number, to the x that it met."""
    groups = shape[1] // weight.shape[1]
    wide = padded(np.zeros(shape), windows)
    filters, gy = in_groups(weight, 0, groups), in_groups(loss, 1, groups)
    for at, window in taps(weight.shape, windows, loss.shape):
        met = np.einsum("goc,ngo...->ngc...", filters[(..., *at)], gy)
        wide[(..., *window)] += met.reshape(wide[(..., *window)].shape)
    pairs = zip(windows["pre_padding"], shape[2:], strict=True)
    return wide[(..., *(slice(before, before + n) for before, n in pairs))]


def back_to_weight(loss, image, shape, windows):
    """The sum over examples and places of each y's gradient times the x that the number met."""
    groups, wide, gw = image.shape[1] // shape[1], padded(image, windows), np.zeros(shape)
    gy = in_groups(loss, 1, groups)
    gy = gy.reshape(*gy.shape[:3], -1)
    for at, window in taps(shape, windows, loss.shape):
        x = in_groups(wide[(..., *window)], 1, groups)
        x = x.reshape(*x.shape[:3], -1)
        gw[(..., *at)] = np.einsum("ngop,ngcp->goc", gy, x).reshape(shape[:2])
    return gw


def normal_back(gy, x, scale, mean, inverse, axes, shared):
    """Gradients of x, scale and shift; Ioffe and Szegedy (2015), section 3.

    Statistics are over `axes`; scale and shift are shared along `shared`.
    """
    unit, gunit = (x - mean) * inverse, gy * scale
    gvar = (gunit * (x - mean)).sum(axes, keepdims=True) * -0.5 * inverse**3
    gmean = -(gunit * inverse).sum(axes, keepdims=True)
    count = x.size / mean.size
    gx = gunit * inverse + gvar * 2 * (x - mean) / count + gmean / count
    sums = [g.sum(shared, keepdims=True) for g in (gy * unit, gy)]
    return [gx, *(g.reshape(scale.shape) for g in sums)]


def normal(x, scale, bias, epsilon, axes):
    mean = x.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axes, keepdims=True) + epsilon)
    return [(x - mean) * inverse * scale + bias, mean, inverse]
