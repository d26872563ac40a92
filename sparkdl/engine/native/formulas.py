"""Vector functions: polynomials in float32, to about one unit in the last place.

The coefficients minimize the largest relative error over the interval given beside them (fitted by
iteratively reweighted least squares); the error of the fit is given too.

References
----------
Muller, Elementary Functions (2016), chapters 3 and 11: range reduction and polynomials.
Goldberg, What every computer scientist should know about floating-point arithmetic (1991),
theorem 4: log(1 + u) by the logarithm of the rounded sum.
"""

from math import log

LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4  # 9 bits: exact times n
ROUND, ROUND_BITS = 1.5 * 2.0**23, 0x4B400000  # adding it rounds into the low bits
WIDE_ROUND, WIDE_ROUND_BITS = 1.5 * 2.0**52, 0x4338000000000000  # the same in float64

EXP = (4.999999990e-01, 1.666651712e-01, 4.166620043e-02, 8.369096287e-03, 1.395084953e-03)
LOG = (
    *(3.333331254e-01, -2.500000951e-01, 2.000212346e-01, -1.666800517e-01, 1.421945299e-01),
    *(-1.240534023e-01, 1.188869741e-01, -1.167751523e-01, 6.747728760e-02),
)  # [sqrt(1/2) - 1, sqrt(2) - 1], 8e-10
TANH = (-3.333328194e-01, 1.333144219e-01, -5.373971485e-02, 2.063908657e-02, -5.704986327e-03)
ERF = (
    *(1.283791671e-01, -3.761263843e-01, 1.128378197e-01, -2.686540004e-02, 5.220945441e-03),
    *(-8.482828958e-04, 1.125694871e-04, -9.641518321e-06),
)  # in x^2, x up to 1, 3e-11, less 1
ERF_TAIL = (
    *(-1.884666047e-04, 1.129580306e00, 6.332164064e-01, 1.084220902e-01, -2.521033440e-02),
    *(4.205282962e-03, -4.414723261e-04, 2.169758936e-05),
)  # -log(1 - erf x) for x in [1, 4], 2e-11
SMALLEST = 1.17549435e-38  # the smallest normal number


def polynomial(x, coefficients):
    """c0 + c1 x + c2 x^2 ..., by Horner's rule."""
    total = x.of(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total.fma(x, c)
    return total


def clamp(x, low, high):
    """Clips x between two numbers; NaN stays."""
    x = (x < low).select(x.of(low), x)
    return (x > high).select(x.of(high), x)


def halves(x):
    """Returns (n as int32, r) with x = n log 2 + r and |r| at most log(2) / 2."""
    shifted = x.fma(1 / log(2), ROUND)
    n = shifted - ROUND
    r = n.fma(-LN2_LOW, n.fma(-LN2_HIGH, x))
    return shifted.bits("int32") - ROUND_BITS, r


def power_of_two(n):
    """2^n for int32 n from -126 to 127."""
    return ((n + 127) << 23).bits("float32")


def exp(x):
    n, r = halves(clamp(x, -104.0, 89.0))
    e = polynomial(r, (1.0, 1.0, *EXP))
    half = n >> 1  # two factors, as 2^128 and 2^-149 are not normal numbers
    return e * power_of_two(half) * power_of_two(n - half)


def expm1(x):
    """e^x - 1 for x up to 0."""
    n, r = halves(clamp(x, -30.0, 0.0))
    scale = power_of_two(n)
    return scale.fma((r * r).fma(polynomial(r, EXP), r), scale - 1.0)


def logarithm(x):
    """log x for normal numbers above 0."""
    bits = x.bits("int32")
    exponent = (bits - 0x3F3504F3) >> 23  # exponent for a mantissa in sqrt(1/2) to sqrt(2)
    f = (bits - (exponent << 23)).bits("float32") - 1.0
    n = exponent.cast("float32")
    square = f * f
    rest = n.fma(LN2_LOW, square * f * polynomial(f, LOG))
    return n.fma(LN2_HIGH, f + square.fma(-0.5, rest))


def log_of(x):
    tiny = x < SMALLEST
    y = logarithm(tiny.select(x * 2.0**23, x))
    y = tiny.select(y - 23 * log(2), y)
    y = x.compare("eq", float("inf")).select(x, y)
    y = x.compare("eq", 0.0).select(x.of(float("-inf")), y)
    return (x < 0.0).select(x.of(float("nan")), x.is_nan().select(x, y))


def log1p_of_share(u):
    """log(1 + u) for u from 0 to 1, corrected for the rounding of the sum."""
    total = u + 1.0
    return logarithm(total) + (u - (total - 1.0)) / total


def with_sign(x, y):
    return x.intrinsic("copysign", y)


def magnitude(x):
    return x.intrinsic("fabs")


def tanh(x):
    size, square = magnitude(x), x * x
    small = (x * square).fma(polynomial(square, TANH), x)
    large = 1.0 - 2.0 / (exp(size * 2.0) + 1.0)
    return (size < 0.625).select(small, with_sign(large, x))


def sigmoid(x):
    return 1.0 / (exp(clamp(-x, -104.0, 88.0)) + 1.0)


def softplus(x):
    return (x <= 0.0).select(x.of(0.0), x) + log1p_of_share(exp(-magnitude(x)))


def erf(x):
    size = magnitude(x)
    small = x.fma(polynomial(x * x, ERF), x)
    large = 1.0 - exp(-polynomial(clamp(size, 1.0, 4.0), ERF_TAIL))
    return (size < 1.0).select(small, with_sign(large, x))


def power(x, exponent):
    """x to a fixed, finite exponent."""
    if exponent in PLAIN_POWERS:
        return PLAIN_POWERS[exponent](x)
    y = exponential2(exponent * logarithm2(magnitude(x).cast("float64"))).cast("float32")
    low, high = (0.0, float("inf")) if exponent > 0 else (float("inf"), 0.0)
    size = magnitude(x)
    y = size.compare("eq", 0.0).select(x.of(low), y)
    y = size.compare("eq", float("inf")).select(x.of(high), y)
    if exponent % 2 == 1:
        y = with_sign(y, x)
    elif exponent % 1:
        below = (x < 0.0) & (size < float("inf"))
        y = below.select(x.of(float("nan")), y)
    return x.is_nan().select(x, y)


def square_root(x):
    return x.intrinsic("sqrt")


def inverse_root(x):
    """x^(-1/2), which differs from one over the root at -0 and minus infinity."""
    return 1.0 / square_root(x.compare("eq", float("-inf")).select(-x, x + 0.0))


PLAIN_POWERS = {
    0.0: lambda x: x.of(1.0),
    0.5: square_root,
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    -0.5: inverse_root,
    -1.0: lambda x: 1.0 / x,
}


def logarithm2(x):
    """log2 of normal float64 numbers above 0, by the series of atanh."""
    bits = x.bits("int64")
    exponent = (bits - 0x3FE6A09E667F3BCD) >> 52
    m = (bits - (exponent << 52)).bits("float64")
    t = (m - 1.0) / (m + 1.0)
    series = [2 / (2 * k + 1) / log(2) for k in range(8)]
    return exponent.cast("float64") + t * polynomial(t * t, series)


def exponential2(x):
    """2^x in float64, to 1e-13, as far as float32 goes."""
    x = clamp(x, -160.0, 140.0)
    shifted = x + WIDE_ROUND
    r = (x - (shifted - WIDE_ROUND)) * log(2)
    n = shifted.bits("int64") - WIDE_ROUND_BITS
    factorials = [1.0]
    for k in range(1, 12):
        factorials.append(factorials[-1] / k)
    return polynomial(r, factorials) * ((n + 1023) << 52).bits("float64")
