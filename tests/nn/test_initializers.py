"""Initial values: their moments, bounds and properties."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import layers
from sparkdl.nn.initializers import (
    Bilinear,
    Binomial,
    Constant,
    IdentityMatrix,
    Initializer,
    LogNormal,
    Normal,
    Orthogonal,
    PositiveUnitball,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    Zeros,
)
from sparkdl.nn.layers import Conv2D, Dense
from tests.nn.examples import INITIALIZERS
from tests.nn.support import label

SHAPE, FANS = (400, 250), (400, 250)
XAVIER, HE, LECUN = 2 / 650, 2 / 400, 1 / 400
SHAPES = {"bilinear": (3, 2, 4, 4)}  # for initializers that need filters

# mean, variance, minimum and maximum (None: unbounded) over SHAPE
MOMENTS = {
    "zeros": (0, 0, 0, 0),
    "ones": (1, 0, 1, 1),
    "constant": (0.25, 0, 0.25, 0.25),
    "normal": (2.0, 0.01, None, None),
    "truncated_normal": (-1.0, 0.01 * 0.774122, -1.2, -0.8),  # scipy.stats.truncnorm.var(-2, 2)
    "uniform": (1.0, 16 / 12, -1, 3),
    "xavier": (0, XAVIER, None, None),
    "xavier_uniform": (0, XAVIER, -((3 * XAVIER) ** 0.5), (3 * XAVIER) ** 0.5),
    "he": (0, HE, None, None),
    "he_uniform": (0, HE, -((3 * HE) ** 0.5), (3 * HE) ** 0.5),
    "lecun": (0, LECUN, None, None),
    "lecun_uniform": (0, LECUN, -((3 * LECUN) ** 0.5), (3 * LECUN) ** 0.5),
    "sigmoid_uniform": (0, 16 * XAVIER, -4 * (6 / 650) ** 0.5, 4 * (6 / 650) ** 0.5),
    "variance_scaling": (0, 2 / 325, None, None),
    "log_normal": (np.exp(0.505), (np.exp(0.01) - 1) * np.exp(1.01), 0, None),
    "binomial": (1, 0.75, 0, 4),
    "positive_unitball": (1 / 400, 1 / 400**2 / 3, 0, 1 / 400 / 0.4),
    "bilinear": (1 / 4, 0.3125**2 - 1 / 16, 1 / 16, 9 / 16),
    "orthogonal": (0, 4 / 400, None, None),
    "identity": (1 / 400, 1 / 400 - 1 / 400**2, 0, 1),
}


def draw(initializer, shape=SHAPE, fans=FANS, seed=3):
    return initializer.draw(shape, fans, np.random.default_rng(seed))


def test_every_initializer_is_measured():
    assert set(MOMENTS) == set(Initializer.members)


@pytest.mark.parametrize("initializer", INITIALIZERS, ids=str)
def test_moments_and_bounds(initializer):
    mean, variance, low, high = MOMENTS[initializer.type_name]
    shape = SHAPES.get(initializer.type_name, SHAPE)
    values = draw(initializer, shape)
    n = values.size
    assert values.shape == shape
    # five standard errors; the variance of a sample variance is at most 2 var^2 / n here
    assert values.mean() == pytest.approx(mean, abs=5 * (variance / n) ** 0.5 + 1e-12)
    assert values.var() == pytest.approx(variance, rel=5 * (2 / n) ** 0.5, abs=1e-12)
    assert low is None or values.min() >= low
    assert high is None or values.max() <= high


@pytest.mark.parametrize("initializer", INITIALIZERS, ids=str)
def test_the_same_generator_gives_the_same_values(initializer):
    shape = SHAPES.get(initializer.type_name, SHAPE)
    np.testing.assert_array_equal(draw(initializer, shape), draw(initializer, shape))


def test_normal_draws_are_normal():
    stats = pytest.importorskip("scipy.stats")
    values = draw(Normal(std=2.0, mean=1.0)).ravel()
    assert stats.kstest(values, stats.norm(1.0, 2.0).cdf).pvalue > 0.001
    values = draw(TruncatedNormal(std=2.0, mean=1.0)).ravel()
    assert stats.kstest(values, stats.truncnorm(-2, 2, 1.0, 2.0).cdf).pvalue > 0.001


@pytest.mark.parametrize("mode, n", [("fan_in", 50), ("fan_out", 450), ("fan_avg", 250)])
@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
def test_variance_scaling_counts_what_it_is_told_to(mode, n, distribution):
    scaling = VarianceScaling(scale=3.0, mode=mode, distribution=distribution)
    values = draw(scaling, fans=(50, 450))
    assert values.var() == pytest.approx(3 / n, rel=0.03)
    widest = {"normal": np.inf, "truncated_normal": 2 / 0.8796256610342398, "uniform": 3**0.5}
    assert abs(values).max() <= widest[distribution] * (3 / n) ** 0.5


def test_positive_unitball_sums_to_1_for_each_output():
    np.testing.assert_allclose(draw(PositiveUnitball(), (7, 3)).sum(axis=0), np.ones(3))
    np.testing.assert_allclose(draw(PositiveUnitball(), (3, 2, 4, 5)).sum(axis=(1, 2, 3)), 1)


def test_bilinear_filters_are_tents():
    tent = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(draw(Bilinear(), (2, 3, 4, 4))[1, 2], np.outer(tent, tent))
    tent = np.array([1, 2, 3, 2, 1]) / 3
    np.testing.assert_allclose(draw(Bilinear(), (1, 1, 5, 5))[0, 0], np.outer(tent, tent))


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (3, 2, 3, 3), (20, 1, 2, 2)])
def test_orthogonal_rows_or_columns(shape):
    matrix = draw(Orthogonal(gain=2.0), shape, (1, 1)).reshape(shape[0], -1)
    product = matrix @ matrix.T if len(matrix) <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_identity_layers_give_back_their_input(rng):
    x, images = rng.normal(size=(2, 4)), rng.normal(size=(2, 3, 5, 5))
    weights = {"W": draw(IdentityMatrix(), (4, 4)), "b": np.zeros(4)}
    np.testing.assert_array_equal(Dense(units=4).forward(weights, x, None), x)
    filters = {"W": draw(IdentityMatrix(), (3, 3, 3, 3)), "b": np.zeros(3)}
    conv = Conv2D(filters=3, kernel_size=3, padding="same")
    np.testing.assert_array_equal(conv.forward(filters, images, None), images)


def test_fans_of_layers():
    assert Dense(units=3).fans((5, 3)) == (5, 3)
    assert Conv2D(filters=20, kernel_size=5).fans((20, 3, 5, 5)) == (75, 500)
    # a channel (8 in 4 groups) reaches the 5 filters of its group
    assert Conv2D(filters=20, kernel_size=3, groups=4).fans((20, 2, 3, 3)) == (18, 45)
    assert layers.Conv1D(filters=8, kernel_size=5).fans((8, 3, 5)) == (15, 40)
    assert layers.Conv2DTranspose(filters=4, kernel_size=3, groups=2).fans((6, 2, 3, 3)) == (27, 18)
    assert layers.DepthwiseConv2D(kernel_size=3, multiplier=2).fans((6, 1, 3, 3)) == (9, 18)
    assert layers.SeparableConv2D(filters=8, kernel_size=3).fans((8, 6, 1, 1)) == (6, 8)
    assert layers.LocallyConnected2D(filters=4, kernel_size=2).fans((9, 12, 4)) == (12, 4)


def test_the_two_weights_of_a_separable_convolution_have_fans_of_their_own(rng):
    layer = layers.SeparableConv2D(filters=64, kernel_size=8, multiplier=4, initializer="he")
    shapes = layer.param_shapes((50, 16, 16))
    values = {name: layer.initial(name, shape, rng) for name, shape in shapes.items()}
    assert values["D"].std() == pytest.approx(np.sqrt(2 / 64), rel=0.05)
    assert values["W"].std() == pytest.approx(np.sqrt(2 / 200), rel=0.05)


REFUSED = [
    (lambda: Normal(std=0), ConfigError, "Normal.std must be a number above 0, got 0"),
    (lambda: Normal(mean=float("inf")), ConfigError, "Normal.mean must be a finite number"),
    (lambda: TruncatedNormal(std=-1), ConfigError, "TruncatedNormal.std must be a number above 0"),
    (lambda: Uniform(low=1, high=1), ConfigError, "Uniform.high must be a number above low (1)"),
    (lambda: Uniform(low="0"), ConfigError, "Uniform.low must be a finite number, got '0'"),
    (lambda: Constant(value=None), ConfigError, "Constant.value must be a finite number, got None"),
    (lambda: Orthogonal(gain=True), ConfigError, "Orthogonal.gain must be a number above 0"),
    (lambda: LogNormal(std=0), ConfigError, "LogNormal.std must be a number above 0, got 0"),
    (lambda: LogNormal(mean="0"), ConfigError, "LogNormal.mean must be a finite number, got '0'"),
    (lambda: Binomial(trials=0), ConfigError, "Binomial.trials must be an integer >= 1, got 0"),
    (
        lambda: Binomial(probability=2),
        ConfigError,
        "Binomial.probability must be a number in [0, 1], got 2",
    ),
    (lambda: VarianceScaling(scale=0), ConfigError, "VarianceScaling.scale must be a number above"),
    (
        lambda: VarianceScaling(mode="in"),
        ConfigError,
        "VarianceScaling.mode must be 'fan_in', 'fan_out' or 'fan_avg', got 'in'",
    ),
    (
        lambda: VarianceScaling(distribution="cauchy"),
        ConfigError,
        "VarianceScaling.distribution must be 'normal', 'truncated_normal' or 'uniform'",
    ),
    (lambda: draw(PositiveUnitball(), (3,)), ShapeError, "needs a matrix or filters"),
    (lambda: draw(Bilinear(), (3, 3)), ShapeError, "bilinear needs square filters"),
    (lambda: draw(Bilinear(), (1, 1, 3, 2)), ShapeError, "bilinear needs square filters"),
    (lambda: draw(IdentityMatrix(), (3,)), ShapeError, "identity needs a matrix or filters"),
    (lambda: Zeros(value=1), ConfigError, "Zeros has no field 'value'"),
]


@pytest.mark.parametrize("make, error, message", REFUSED, ids=label)
def test_refuses(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_sparse_normals_keep_so_many_weights_of_each_input():
    rng = np.random.default_rng(2)
    values = Normal(std=1.0, sparse=15).draw((784, 1000), (784, 1000), rng)
    assert 14.5 < (values != 0).sum(axis=1).mean() < 15.5
    assert 0.98 < values[values != 0].std() < 1.02
    filters = Normal(sparse=2).draw((50, 20, 5, 5), (500, 1250), rng)
    assert 0.035 < (filters != 0).mean() < 0.045
    with pytest.raises(ConfigError, match="Normal.sparse must be an integer >= 1 or None, got 0"):
        Normal(sparse=0)
