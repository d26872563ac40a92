"""The running statistics of BatchNorm."""

import numpy as np
import pytest

from sparkdl.nn.layers import BatchNorm, TimeDistributed
from sparkdl.nn.layers.core.run import Run


@pytest.mark.slow
@pytest.mark.parametrize("shape, axes", [((6, 3), 0), ((6, 3, 4, 5), (0, 2, 3))], ids=str)
def test_running_statistics_follow_the_batch(shape, axes, rng):
    layer, x = BatchNorm(momentum=0.75), rng.normal(2, 3, size=shape)
    buffers = {"mean": np.array([1.0, 2, 3]), "variance": np.array([4.0, 5, 6])}
    run = Run(training=True, seed=0, buffers=buffers)
    layer.forward({"gamma": np.ones(3), "beta": np.zeros(3)}, x, run)
    mean, variance = x.mean(axes), x.var(axes)
    np.testing.assert_allclose(run.updates["mean"], 0.75 * buffers["mean"] + 0.25 * mean)
    np.testing.assert_allclose(
        run.updates["variance"], 0.75 * buffers["variance"] + 0.25 * variance
    )


def test_the_unbiased_variance_is_followed_where_that_is_chosen(rng):
    layer, x = BatchNorm(momentum=0.0, variance="unbiased"), rng.normal(size=(4, 3, 2))
    run = Run(training=True, seed=0, buffers={"mean": np.zeros(2), "variance": np.ones(2)})
    layer.forward({"gamma": np.ones(2), "beta": np.zeros(2)}, x, run)
    np.testing.assert_allclose(run.updates["variance"], x.reshape(12, 2).var(0, ddof=1))


def test_without_a_bias_the_first_batches_count_fully(rng):
    """As in Caffe: decayed sums divided by the sum of the decay weights."""
    layer = BatchNorm(momentum=0.9, debias=True, variance="unbiased", scale=False, shift=False)
    buffers = {name: layer.initial(name, s, rng) for name, s in layer.buffer_shapes((2,)).items()}
    batches = [rng.normal(1, 2, (5, 2)) for _ in range(3)]
    for x in batches:
        run = Run(training=True, seed=0, buffers=buffers)
        layer.forward({}, x, run)
        buffers = run.updates
    np.testing.assert_allclose(buffers["weight"], 0.81 + 0.9 + 1)
    powers = np.array([0.81, 0.9, 1])[:, None]
    mean = (powers * [x.mean(0) for x in batches]).sum(0) / powers.sum()
    variance = (powers * [x.var(0, ddof=1) for x in batches]).sum(0) / powers.sum()
    x = rng.normal(size=(4, 2))
    y = layer.forward({}, x, Run(training=False, seed=0, buffers=buffers))
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-5))


def test_without_a_bias_nothing_seen_is_zeros(rng):
    layer = BatchNorm(debias=True, epsilon=0.25, scale=False, shift=False)
    buffers = {name: layer.initial(name, s, rng) for name, s in layer.buffer_shapes((2,)).items()}
    x = rng.normal(size=(4, 2))
    y = layer.forward({}, x, Run(training=False, seed=0, buffers=buffers))
    np.testing.assert_allclose(y, 2 * x)


def test_a_batch_of_one_number_has_no_unbiased_variance_and_none_is_made_up():
    run = Run(training=True, seed=0, buffers={"mean": np.zeros(2), "variance": np.ones(2)})
    params = {"gamma": np.ones(2), "beta": np.zeros(2)}
    BatchNorm(variance="unbiased").forward(params, np.ones((1, 2)), run)
    np.testing.assert_allclose(run.updates["variance"], 0.9)


@pytest.mark.parametrize("variance", ["biased", "unbiased"])
def test_padded_steps_do_not_count(variance, rng):
    layer, x = BatchNorm(momentum=0.0, variance=variance), rng.normal(2, 3, size=(2, 4, 3))
    mask = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], float)
    params = {"gamma": rng.normal(size=3), "beta": rng.normal(size=3)}
    buffers = {"mean": np.zeros(3), "variance": np.ones(3)}
    run = Run(training=True, seed=0, buffers=buffers, masks=(mask,))
    y, there = layer.forward(params, x, run), x[mask == 1]
    alone = Run(training=True, seed=0, buffers=buffers)
    np.testing.assert_allclose(y[mask == 1], layer.forward(params, there, alone))
    for name, value in alone.updates.items():
        np.testing.assert_allclose(run.updates[name], value)


@pytest.mark.parametrize("shape", [(4, 1, 3), (4, 3, 1), (1, 4, 3, 1)], ids=str)
def test_a_mask_says_nothing_of_images_that_sequences_have_become(shape, rng):
    layer, x = BatchNorm(), rng.normal(2, 3, size=(2, *shape))
    params = {"gamma": np.ones(shape[0]), "beta": np.zeros(shape[0])}
    buffers = {"mean": np.zeros(shape[0]), "variance": np.ones(shape[0])}
    mask = np.array([[1, 1, 0, 0], [1, 1, 1, 1]], float)
    runs = [Run(training=True, seed=0, buffers=buffers, masks=m) for m in ((mask,), ())]
    np.testing.assert_array_equal(*(layer.forward(params, x, run) for run in runs))
    for name, value in runs[1].updates.items():
        np.testing.assert_array_equal(runs[0].updates[name], value)


def test_padded_steps_do_not_count_at_each_step_by_itself(rng):
    """TimeDistributed turns steps into rows and the sequence mask into a row mask."""
    x, mask = rng.normal(2, 3, size=(2, 4, 3)), np.array([[1, 1, 1, 0], [1, 0, 0, 0]], float)
    params = {"gamma": rng.normal(size=3), "beta": rng.normal(size=3)}
    buffers = {"mean": np.zeros(3), "variance": np.ones(3)}
    run = Run(training=True, seed=0, buffers=buffers, masks=(mask,))
    y = TimeDistributed(layer=BatchNorm(momentum=0.0)).forward(params, x, run)
    there = x[mask == 1]
    expected = (there - there.mean(0)) / np.sqrt(there.var(0) + 1e-5)
    np.testing.assert_allclose(y[mask == 1], params["gamma"] * expected + params["beta"])
    np.testing.assert_allclose(run.updates["mean"], there.mean(0))


@pytest.mark.parametrize("variance", ["biased", "unbiased"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 4, 2), (3, 1, 2, 2)], ids=str)
def test_padded_sequences_and_images_do_not_count_in_steps_of_them(shape, variance, rng):
    """They did: only the mask of rows in steps was passed on to the layer inside."""
    x, mask = rng.normal(2, 3, size=(2, 4, *shape)), np.array([[1, 1, 1, 0], [1, 0, 0, 0]], float)
    x[mask == 0] = np.nan
    layer = BatchNorm(momentum=0.0, variance=variance)
    params = {"gamma": rng.normal(size=3), "beta": rng.normal(size=3)}
    buffers = {"mean": np.zeros(3), "variance": np.ones(3)}
    run = Run(training=True, seed=0, buffers=buffers, masks=(mask,))
    y = TimeDistributed(layer=layer).forward(params, x, run)
    alone = Run(training=True, seed=0, buffers=buffers)
    np.testing.assert_allclose(y[mask == 1], layer.forward(params, x[mask == 1], alone))
    for name, value in alone.updates.items():
        np.testing.assert_allclose(run.updates[name], value)


@pytest.mark.parametrize("debias", [False, True])
def test_without_a_step_running_statistics_stay(debias, rng):
    layer = BatchNorm(debias=debias, variance="unbiased")
    buffers = {name: rng.uniform(1, 2, s) for name, s in layer.buffer_shapes((4, 3)).items()}
    run = Run(training=True, seed=0, buffers=buffers, masks=(np.zeros((2, 4)),))
    layer.forward({"gamma": np.ones(3), "beta": np.zeros(3)}, rng.normal(size=(2, 4, 3)), run)
    assert set(run.updates) == set(buffers)
    for name, value in buffers.items():
        np.testing.assert_array_equal(run.updates[name], value)


def test_running_statistics_stay_as_they_are_in_use(rng):
    run = Run(training=False, seed=0, buffers={"mean": np.zeros(3), "variance": np.ones(3)})
    BatchNorm().forward({"gamma": np.ones(3), "beta": np.zeros(3)}, rng.normal(size=(2, 3)), run)
    assert run.updates == {}


def test_starts_as_the_identity(rng):
    layer = BatchNorm(epsilon=1e-12)
    params = {name: layer.initial(name, (3,), rng) for name in layer.param_shapes((3,))}
    buffers = {name: layer.initial(name, (3,), rng) for name in layer.buffer_shapes((3,))}
    x = rng.normal(size=(2, 3))
    y = layer.forward(params, x, Run(training=False, seed=0, buffers=buffers))
    np.testing.assert_allclose(y, x)


def test_a_layer_may_only_update_its_own_buffers():
    with pytest.raises(KeyError, match="no buffer 'median'"):
        Run(training=True, seed=0, buffers={"mean": 0}).update("median", 1)
