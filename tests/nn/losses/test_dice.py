"""The Dice loss of sequences, images and rows: by jax, by hand, in training and evaluation."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl import replace_output
from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import Activation, Adam, Conv2D, GraphBuilder, LossLayer, NetworkConf, Output
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import Dice, SigmoidCrossEntropy, SoftmaxCrossEntropy, Tversky
from sparkdl.training.evaluation.batch_evaluation import Evaluator
from sparkdl.training.network import Network
from tests.nn.examples import LOSSES
from tests.nn.support import label, value_and_gradients

UNITS = 4
SHAPES = {"images": (3, UNITS, 5, 2), "sequences": (3, 6, UNITS), "rows": (3, UNITS)}
examples = pytest.mark.parametrize(
    "loss", [one for one in LOSSES if isinstance(one, Dice | Tversky)], ids=str
)
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))


def labels_for(loss, shape, rng):
    """Draws labels for z of a shape, some of them ignored."""
    if loss.labels == "masks":
        return rng.integers(0, 2, shape).astype(float)
    axis = 1 if len(shape) > 3 else -1
    classes = rng.integers(0, UNITS, [n for i, n in enumerate(shape) if i != axis % len(shape)])
    if loss.labels == "one_hot":
        return np.moveaxis(np.eye(UNITS)[classes], -1, axis)
    known = 255 if loss.ignore_label is None else loss.ignore_label
    return np.where(rng.random(classes.shape) < 0.3, known, classes) if known < 255 else classes


def dice(loss, z, y, mask=None):
    """Returns the loss of each example, in jax."""
    axis = 1 if z.ndim > 3 else -1
    p = jax.nn.sigmoid(z) if loss.labels == "masks" else jax.nn.softmax(z, axis)
    p = jnp.moveaxis(p, axis, -1).reshape(len(z), -1, UNITS)
    if loss.labels == "class":
        counted = (y != loss.ignore_label).reshape(p.shape[:2]) * 1.0
        counted = counted if mask is None else counted * mask
        y = jax.nn.one_hot(y, UNITS)
    else:
        counted = jnp.ones(p.shape[:2]) if mask is None else mask
        y = jnp.moveaxis(y, axis, -1)
    p, y = p * counted[..., None], y.reshape(p.shape) * counted[..., None]
    w = jnp.ones(UNITS) if loss.class_weights is None else jnp.asarray(loss.class_weights)
    over, scale = (1, 1.0) if loss.per_unit else ((1, 2), w)
    a, b = (0.5, 0.5) if isinstance(loss, Dice) else (loss.alpha, loss.beta)
    smooth = loss.smooth / 2 if isinstance(loss, Dice) else loss.smooth
    both, wrong, missed = p * y, p * (counted[..., None] - y), (counted[..., None] - p) * y
    total = (scale * (both + a * wrong + b * missed)).sum(over) + smooth
    lost = 1 - ((scale * both).sum(over) + smooth) / total
    return (w * lost).mean(1) if loss.per_unit else lost


@pytest.mark.slow
@examples
@shapes
def test_equals_jax(loss, shape, rng, x64):
    z, y = 2 * rng.normal(size=shape), labels_for(loss, shape, rng)
    np.testing.assert_allclose(loss.per_example(z, y), dice(loss, z, y), rtol=1e-9)
    _, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, y)), z)
    theirs = jax.grad(lambda z: dice(loss, z, y).sum())(jnp.asarray(z))
    np.testing.assert_allclose(gz, theirs, rtol=1e-7, atol=1e-12)
    assert loss.label_shape(shape[1:]) == y.shape[1:]


@examples
def test_masked_steps_do_not_count(loss, rng, x64):
    shape, mask = SHAPES["sequences"], np.array([[1.0] * 6, [1, 1, 0, 0, 0, 0], [0] * 6])
    z, y = rng.normal(size=shape), labels_for(replace(loss, ignore_label=None), shape, rng)
    found = loss.per_example(z, y, mask)
    np.testing.assert_allclose(found[:2], dice(loss, z, y, mask)[:2], rtol=1e-9)
    np.testing.assert_allclose(found[1], loss.per_example(z[1:2, :2], y[1:2, :2])[0])
    weight = 1 if loss.class_weights is None or not loss.per_unit else np.mean(loss.class_weights)
    assert found[2] == (0 if loss.smooth else weight)


@examples
@shapes
def test_extreme_outputs_stay_finite(loss, shape, rng):
    z = np.where(rng.random(shape) < 0.5, -1e4, 1e4).astype(np.float32)
    y = labels_for(loss, shape, rng)
    y = y.astype(np.int32 if loss.label_kind == "class" else np.float32)
    value, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, y)), z)
    assert np.isfinite(value) and np.isfinite(gz).all() and np.isfinite(loss.output(z)).all()


def test_places_that_are_ignored_may_have_no_class(rng):
    z, y = rng.normal(size=SHAPES["images"]), np.full((3, 5, 2), 255)
    y[0, 0] = 1
    loss = Dice(ignore_label=255)
    _, (gz,) = value_and_gradients(lambda z: ops.sum(loss.per_example(z, y)), z)
    assert gz[0, :, 0].all() and not gz[0, :, 1:].any() and not gz[1:].any()
    np.testing.assert_allclose(loss.per_example(z, y)[0], Dice().per_example(z, y)[0], atol=1)
    alone = Dice().per_example(z[:1, :, :1], y[:1, :1])
    np.testing.assert_allclose(loss.per_example(z, y), [alone[0], 0, 0], rtol=1e-6)


SURE = 100.0  # p is 1
BY_HAND = [  # (loss, z of units by place, labels by place, its loss)
    (Dice(labels="masks", smooth=0), [[SURE], [SURE], [-SURE]], [[1], [0], [1]], 1 - 2 / 4),
    (Dice(labels="masks", smooth=1), [[SURE], [SURE], [-SURE]], [[1], [0], [1]], 1 - 3 / 5),
    (Dice(labels="masks", smooth=1), [[-SURE], [-SURE]], [[0], [0]], 0),
    (Dice(labels="masks", smooth=0), [[-SURE], [-SURE]], [[0], [0]], 1),
    (Dice(smooth=0), [[SURE, 0], [SURE, 0], [0, SURE]], [0, 1, 1], 1 - (2 / 3 + 2 / 3) / 2),
    (Dice(smooth=0), [[SURE, 0], [SURE, 0], [SURE, 0]], [0, 0, 1], 1 - (4 / 5 + 0) / 2),
    (Dice(smooth=0, per_unit=False), [[SURE, 0], [SURE, 0], [SURE, 0]], [0, 0, 1], 1 - 4 / 6),
    (
        Dice(smooth=0, class_weights=(1, 3)),
        [[SURE, 0], [SURE, 0], [SURE, 0]],
        [0, 0, 1],
        (1 - 4 / 5 + 3) / 2,
    ),
    (  # the sums of both classes, 2 found of 5 and none of 1
        Dice(smooth=0, class_weights=(1, 3), per_unit=False),
        [[SURE, 0], [SURE, 0], [SURE, 0]],
        [0, 0, 1],
        1 - 2 * 2 / (5 + 3),
    ),
    (  # one found, one false alarm, two missed
        Tversky(labels="masks", smooth=0, alpha=0.25, beta=2),
        [[SURE], [SURE], [-SURE], [-SURE]],
        [[1], [0], [1], [1]],
        1 - 1 / (1 + 0.25 + 2 * 2),
    ),
    (Tversky(labels="masks", smooth=1), [[-SURE], [-SURE]], [[0], [0]], 0),
    (Tversky(labels="masks", smooth=0), [[-SURE], [-SURE]], [[0], [0]], 1),
]


@pytest.mark.parametrize("loss, z, labels, expected", BY_HAND, ids=label)
def test_equals_what_is_computed_by_hand(loss, z, labels, expected):
    value = loss.per_example(np.array([z], float), np.array([labels]))
    np.testing.assert_allclose(value, [expected], atol=1e-6)


def segmented(loss, size=6):
    """Returns images of a bright and a dim square on a dark ground, and the kind of each pixel."""
    rng = np.random.default_rng(1)
    kinds = np.zeros((32, size, size), np.int32)
    for one in kinds:
        row, column = rng.integers(0, size - 2, 2)
        one[row : row + 2, column : column + 2] = rng.integers(1, 3)
    x = (kinds + 0.1 * rng.normal(size=kinds.shape))[:, None].astype(np.float32)
    units = 1 if loss.labels == "masks" else 3
    conf = NetworkConf(
        input_shape=(1, size, size),
        layers=[Conv2D(filters=units, kernel_size=3, padding=1), LossLayer(loss=loss)],
        optimizer=Adam(learning_rate=0.1),
        seed=1,
    )
    return conf, x, (kinds[:, None] > 0).astype(np.float32) if units == 1 else kinds


@pytest.mark.slow
@pytest.mark.parametrize("loss", [Dice(), Dice(labels="masks"), Tversky(beta=0.7)], ids=str)
def test_a_network_learns_to_segment_and_is_judged_by_pixels(loss):
    conf, x, y = segmented(loss)
    network = Network(conf)
    network.fit((x, y), epochs=60)
    found = network.evaluate((x, y))
    each = dice_of_predictions(network.predict(x), y)
    assert found.loss < 0.2
    if isinstance(loss, Dice):
        assert found.loss == pytest.approx(each.mean(), rel=1e-4)
    assert found.examples == y.size and found.accuracy > 0.95
    right = network.predict(x).argmax(1) == y if y.ndim == 3 else (network.predict(x) > 0.5) == y
    assert found.accuracy == pytest.approx(right.mean())


def dice_of_predictions(p, y):
    """Returns the losses (n,) of predictions (n, units, H, W)."""
    y = np.moveaxis(np.eye(3)[y], -1, 1) if y.ndim == 3 else y
    found = (2 * (p * y).sum((2, 3)) + 1) / ((p + y).sum((2, 3)) + 1)
    return 1 - found.mean(1)


@pytest.mark.slow
def test_a_reduction_of_the_layer_has_no_effect():
    conf, x, y = segmented(Dice())
    summed = replace(conf, layers=[conf.layers[0], LossLayer(loss=Dice(), reduction="sum")])
    of_mean, of_sum = (Network(one).evaluate((x, y)).loss for one in (conf, summed))
    assert of_mean == of_sum and 0 < of_mean < 1


def test_two_losses_of_one_output_add_up():
    """Cross entropy and Dice of the same numbers and labels, as segmentation often has them."""
    build = GraphBuilder(features=(1, 6, 6))
    z = build.add(Conv2D(filters=3, kernel_size=3, padding=1), "features")
    build.add(LossLayer(labels="kinds"), z, name="cross_entropy")
    build.add(LossLayer(loss=Dice(), loss_weight=0.5, labels="kinds"), z, name="dice")
    _, x, y = segmented(Dice())
    replica = Replica(build.conf(seed=1))
    batch = Batch(columns={"features": x, "kinds": y}, ids=np.arange(len(x), dtype=np.uint64))
    parts = [float(replica.losses(batch, name)[1].mean()) for name in ("cross_entropy", "dice")]
    assert replica.gradient(batch)[0] / len(x) == pytest.approx(parts[0] + 0.5 * parts[1], rel=1e-5)


@pytest.mark.parametrize("function, labels", [("softmax", "class"), ("sigmoid", "masks")])
def test_a_last_activation_that_the_loss_applies_is_removed(function, labels):
    build = GraphBuilder(features=(1, 6, 6))
    z = build.add(Conv2D(filters=3, kernel_size=3, padding=1), "features")
    build.add(Activation(function=function), z, name="p")
    network, (_, x, _) = Network(build.conf(seed=1)), segmented(Dice())
    trained = replace_output(network, LossLayer(loss=Dice(labels=labels)))
    expected = network.features(x, ["p"])["p"]
    np.testing.assert_allclose(trained.predict(x), expected, rtol=1e-5, atol=1e-6)


def test_a_weight_of_0_leaves_an_example_out():
    conf, x, y = segmented(Dice())
    columns = {"features": x[:4], "labels": y[:4], "weights": np.float32([1, 0, 2, 0])}
    replica = Replica(conf)
    batch = Batch(columns=columns, ids=np.arange(4, dtype=np.uint64))
    [name] = [place.name for place in conf.stack if not place.is_output]
    [z] = replica.forward(x[:4], (name,)).values()
    each = Dice().per_example(z, y[:4])
    assert replica.gradient(batch)[0] == pytest.approx(each[0] + 2 * each[2], rel=1e-5)


def test_classes_are_evaluated_where_they_count():
    conf, x, y = segmented(Dice(ignore_label=255))
    y[:, 0] = 255
    replica = Replica(conf)
    batch = Batch(columns={"features": x, "labels": y}, ids=np.arange(len(x), dtype=np.uint64))
    assert Evaluator(conf).evaluate(replica, [batch]).examples == y[:, 1:].size


REFUSED = [
    (lambda: Dice(labels="masks", ignore_label=1), "None where labels are no classes, got 1"),
    (lambda: Tversky(beta=-1), "Tversky.beta must be a number >= 0, got -1"),
    (lambda: Dice(class_weights=(0, 0)), "Dice.class_weights must be numbers >= 0, not all of"),
    (lambda: Dice(smooth=-1), "Dice.smooth must be a number >= 0, got -1"),
    (lambda: Dice(labels="hot"), "Dice.labels must be 'class', 'one_hot' or 'masks', got 'hot'"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=label)
def test_refuses(make, message):
    with pytest.raises(ConfigError) as caught:
        make()
    assert message in str(caught.value)


def test_weights_of_another_number_of_classes_are_refused():
    with pytest.raises(ShapeError, match="Tversky.class_weights must have one for each of 3 units"):
        NetworkConf(input_shape=(2,), layers=[Output(units=3, loss=Tversky(class_weights=(1, 2)))])


def test_one_unit_is_a_mask():
    with pytest.raises(ShapeError, match='needs 2 units or more, got 1; .*Dice.labels="masks"'):
        NetworkConf(input_shape=(3,), layers=[Output(units=1, loss=Dice())])
    assert NetworkConf(input_shape=(3,), layers=[Output(units=1, loss=Dice(labels="masks"))])
    assert {SoftmaxCrossEntropy().predicts, SigmoidCrossEntropy().predicts} == {"class", "values"}
