"""Training replicas: gradients against jax, vectors updated in place, batches of any size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine.backends import get
from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError
from sparkdl.nn import (
    AddedLoss,
    BatchNorm,
    Dense,
    Dropout,
    Frozen,
    Momentum,
    NetworkConf,
    Output,
    initial_params,
    initial_slots,
)
from sparkdl.nn.execution.kept_programs import PROGRAMS
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.columns import pad, padded_size
from sparkdl.nn.layers.outputs.base import REDUCTIONS
from sparkdl.nn.losses import SoftmaxCrossEntropy
from tests.nn.example_networks import mixed
from tests.nn.execution.test_forward import EPOCH, IDS, in_jax

RATE = 0.1
VECTORS = ("params", "buffers", "slots", "grad")


def rows(**options):
    """Returns a network with each kind of layer that differs between training and inference."""
    stack = [
        Dense(units=5, activation="tanh"),
        BatchNorm(momentum=0.8),
        Dropout(rate=0.3),
        Output(units=3),
    ]
    options = {"optimizer": Momentum(learning_rate=RATE), "l2": 0.2, "seed": 4} | options
    return NetworkConf(input_shape=(4,), layers=stack, **options)


CONFS = {"rows": rows(), "mixed": mixed()}


def batch_for(conf, rng, ids=IDS):
    x = rng.normal(size=(len(ids), *conf.input_shape)).astype(np.float32)
    labels = rng.integers(0, conf.output.units, len(ids)).astype(np.int32)
    return Batch(columns={"features": x, "labels": labels}, ids=np.asarray(ids, np.uint64))


def trained(conf, rng, steps=3):
    """Returns a replica after some steps, so that slots and buffers are not zero."""
    replica = Replica(conf)
    for t in range(1, steps + 1):
        replica.step(batch_for(conf, rng), RATE, t)
    return replica


def theirs(conf, replica, batch):
    """Computes (sum of losses, gradient of the mean loss as a vector) by jax in float64."""
    params, buffers = ({n: np.float64(a) for n, a in part.items()} for part in replica.arrays())

    def loss(params):
        z = in_jax(conf, params, buffers, jnp.asarray(batch.features, float), True)
        return -jax.nn.log_softmax(z)[jnp.arange(len(batch)), batch.labels].mean()

    mean, grads = jax.jit(jax.value_and_grad(loss))(params)
    return float(mean) * len(batch), conf.params_layout.vector(grads, np.float64)


@pytest.mark.parametrize("name", CONFS)
def test_the_gradient_of_the_mean_loss_is_that_of_jax(name, rng, x64):
    conf = CONFS[name]
    replica, batch = trained(conf, rng), batch_for(conf, rng)
    wanted_loss, wanted = theirs(conf, replica, batch)
    loss, examples = replica.gradient(batch, EPOCH)
    assert examples == 4 and loss == pytest.approx(wanted_loss, rel=1e-5)
    np.testing.assert_allclose(replica.grad, wanted, rtol=1e-4, atol=1e-5 * abs(wanted).max())


def test_the_gradient_of_the_mean_loss_is_that_of_central_differences(rng):
    """Central differences along random directions, of the loss that `gradient` itself returns."""
    conf = rows()
    replica, batch = trained(conf, rng), batch_for(conf, rng)
    replica.gradient(batch, EPOCH)
    start, grad, h = replica.params.copy(), replica.grad.astype(float), 3e-3
    for _ in range(5):
        direction = rng.normal(size=start.size)
        ends = []
        for sign in (1, -1):
            replica.params[:] = start + sign * h * direction
            ends.append(replica.gradient(batch, EPOCH)[0] / len(batch))
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(grad @ direction, rel=0.02, abs=2e-3)


@pytest.mark.parametrize("name", CONFS)
def test_a_step_is_penalty_and_momentum_by_hand(name, rng, x64):
    conf = CONFS[name]
    replica, batch = trained(conf, rng), batch_for(conf, rng)
    params, velocity = replica.params.astype(float), replica.slots.astype(float)
    wanted_loss, grad = theirs(conf, replica, batch)
    for entry, part in conf.params_layout.slices.items():
        layer = next(p.layer for p in conf.stack if p.name == entry.split("/")[0])
        if entry.endswith("/W"):
            grad[part] += layer.l1 * np.sign(params[part]) + layer.l2 * params[part]
    velocity = conf.optimizer.momentum * velocity - RATE * grad
    loss = replica.step(batch, RATE, 4, EPOCH)
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    np.testing.assert_allclose(replica.slots, velocity, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(replica.params, params + velocity, rtol=1e-4, atol=1e-6)


def test_a_step_is_a_gradient_and_an_update(rng):
    one, other = trained(rows(), rng, 0), trained(rows(), rng, 0)
    for t in range(1, 4):
        batch = batch_for(rows(), rng)
        loss = one.step(batch, RATE, t, EPOCH)
        assert other.gradient(batch, EPOCH) == (loss, 4)
        other.apply(RATE, t)
    for name in VECTORS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_gradient_alone_moves_buffers_but_no_parameter(rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng)
    before = {name: getattr(replica, name).copy() for name in VECTORS}
    replica.gradient(batch)
    np.testing.assert_array_equal(replica.params, before["params"])
    np.testing.assert_array_equal(replica.slots, before["slots"])
    assert (replica.buffers != before["buffers"]).any()


def test_running_statistics_are_the_mean_of_old_and_new(rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng)
    params, buffers = replica.arrays()
    hidden = np.tanh(batch.features @ params["dense_1/W"] + params["dense_1/b"])
    wanted = 0.8 * buffers["batchnorm_1/mean"] + 0.2 * hidden.mean(axis=0)
    replica.gradient(batch)
    np.testing.assert_allclose(buffers["batchnorm_1/mean"], wanted, rtol=1e-5, atol=1e-6)


def test_the_vectors_stay_where_they_are(rng):
    """A view, such as a bucket being sent, sees every later value."""
    replica = Replica(rows())
    vectors = {name: getattr(replica, name) for name in VECTORS}
    views, _ = replica.arrays()
    for n in (4, 2, 4):
        old = replica.params.copy()
        replica.step(batch_for(rows(), rng, range(n)), RATE, 1)
        assert (replica.params != old).any()
    replica.load(*(np.ones_like(vectors[name]) for name in VECTORS[:3]))
    for name in VECTORS:
        assert getattr(replica, name) is vectors[name] and vectors[name].dtype == np.float32
    assert all((view == 1).all() for view in views.values())


def test_loading_copies(rng):
    replica, batch = Replica(rows()), batch_for(rows(), rng)
    params = initial_params(rows())
    replica.load(params, replica.buffers.copy(), replica.slots.copy())
    replica.step(batch, RATE, 1)
    np.testing.assert_array_equal(params, initial_params(rows()))


@pytest.mark.parametrize("name", ["params", "buffers", "slots"])
def test_vectors_of_another_length_are_refused(name, rng):
    replica = Replica(rows())
    vectors = {n: getattr(replica, n).copy() for n in VECTORS[:3]}
    vectors[name] = vectors[name][:-1]
    with pytest.raises(ShapeError, match=rf"{name} must have \(\d+,\) numbers, got \(\d+,\)"):
        replica.load(**vectors)


@pytest.mark.parametrize("name", CONFS)
def test_after_is_called_once_when_the_gradient_is_final_the_last_layers_first(name, rng):
    conf = CONFS[name]
    replica, batch = trained(conf, rng), batch_for(conf, rng)
    views, seen = conf.params_layout.views(replica.grad), []
    replica.grad[:] = np.nan

    def heard(parameter):
        return lambda: seen.append((parameter, views[parameter].copy()))

    with_calls = replica.gradient(batch, EPOCH, {entry: heard(entry) for entry in views})
    assert sorted(entry for entry, _ in seen) == sorted(views)
    for entry, then in seen:
        np.testing.assert_array_equal(then, views[entry])
    order = [entry.split("/")[0] for entry, _ in seen]
    backwards = [p.name for p in reversed(conf.stack) if p.param_shapes]
    assert list(dict.fromkeys(order)) == backwards
    grad = replica.grad.copy()
    replica.load(replica.params, replica.buffers, replica.slots)
    assert replica.gradient(batch, EPOCH) == with_calls
    np.testing.assert_array_equal(replica.grad, grad)


def test_after_is_called_while_the_rest_still_runs(rng):
    """The last layer's gradient is final before the first layer's begins."""
    conf = rows()
    replica, batch = trained(conf, rng), batch_for(conf, rng)
    views, early = conf.params_layout.views(replica.grad), {}
    replica.grad[:] = 7
    replica.gradient(batch, EPOCH, {"output_1/W": lambda: early.update(W=views["dense_1/W"] + 0)})
    assert (early["W"] == 7).all() and (views["dense_1/W"] != 7).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 200])
@pytest.mark.parametrize("name", CONFS)
def test_a_forward_pass_gives_what_each_example_gives_alone(name, n, rng):
    conf = CONFS[name]
    replica, batch = trained(conf, rng), batch_for(conf, rng, range(n))
    outputs = (conf.layers[-2].name, conf.output.name)
    together = replica.forward(batch.features, outputs)
    assert list(together) == list(outputs)
    assert together[conf.output.name].shape == (n, 3)
    for i in {0, n // 2, n - 1}:
        alone = replica.forward(batch.features[i : i + 1], outputs)
        for layer in outputs:
            np.testing.assert_allclose(together[layer][i], alone[layer][0], rtol=1e-4, atol=1e-6)


def test_forward_without_names_is_the_prediction(rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng)
    (name,) = prediction = replica.forward(batch.features)
    assert name == "output_1"
    np.testing.assert_allclose(prediction[name].sum(axis=1), 1, rtol=1e-5)


def test_what_forward_gave_is_kept_when_it_runs_again(rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng)
    first = replica.forward(batch.features)["output_1"]
    kept = first.copy()
    replica.forward(batch.features * 2)
    np.testing.assert_array_equal(first, kept)


def test_use_draws_nothing_and_moves_nothing(rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng)
    before = {name: getattr(replica, name).copy() for name in VECTORS}
    one, other = (replica.losses(batch)[1] for _ in range(2))
    np.testing.assert_array_equal(one, other)
    for name, vector in before.items():
        np.testing.assert_array_equal(getattr(replica, name), vector)


@pytest.mark.parametrize("n", [1, 3, 200])
def test_losses_are_cross_entropies_of_the_prediction(n, rng):
    replica, batch = trained(rows(), rng), batch_for(rows(), rng, range(n))
    prediction, losses = replica.losses(batch)
    assert losses.shape == (n,)
    np.testing.assert_array_equal(prediction, replica.forward(batch.features)["output_1"])
    wanted = -np.log(prediction[np.arange(n), batch.labels])
    np.testing.assert_allclose(losses, wanted, rtol=1e-4, atol=1e-5)


IGNORING = SoftmaxCrossEntropy(ignore_label=255)
JOINT = {  # losses that depend on the batch, and others
    **{kind: [Output(units=3, reduction=kind, loss=IGNORING)] for kind in REDUCTIONS},
    "added": [AddedLoss(), Output(units=3, loss=IGNORING)],
    "added mean": [AddedLoss(mean=True), Output(units=3, loss=IGNORING)],
    "frozen": [Frozen(layer=AddedLoss()), Output(units=3, loss=IGNORING)],
}


@pytest.mark.parametrize("n", [1, 8, 9, 17])
@pytest.mark.parametrize("name", JOINT)
def test_losses_are_those_of_the_gradient_whatever_sizes_programs_have(name, n, rng):
    replica = Replica(NetworkConf(input_shape=(4,), layers=JOINT[name]))
    labels = np.where(np.arange(n) % 3 == 2, 255, rng.integers(0, 3, n)).astype(np.int32)
    batch = Batch.of(rng.normal(size=(n, 4)).astype(np.float32), labels)
    total, _ = replica.gradient(batch)
    assert replica.losses(batch)[1].sum() == pytest.approx(float(total), rel=1e-5)


def test_losses_of_numbers(rng):
    conf = NetworkConf(input_shape=(4,), layers=[Output(units=2, loss="mse")])
    replica, x = Replica(conf), rng.normal(size=(3, 4)).astype(np.float32)
    labels = rng.normal(size=(3, 2)).astype(np.float32)
    batch = Batch.of(x, labels)
    prediction, losses = replica.losses(batch)
    np.testing.assert_allclose(losses, ((prediction - labels) ** 2).mean(axis=1), rtol=1e-5)
    assert replica.gradient(batch)[0] == pytest.approx(losses.sum(), rel=1e-6)


def test_bytes_train_as_numbers(rng):
    one, other = Replica(rows()), Replica(rows())
    batch = batch_for(rows(), rng)
    whole = batch.replace(features=rng.integers(0, 5, batch.features.shape).astype(np.uint8))
    loss = one.step(whole, RATE, 1)
    assert other.step(whole.replace(features=np.float32(whole.features)), RATE, 1) == loss
    np.testing.assert_array_equal(one.params, other.params)


def test_a_mask_follows_the_example_and_the_epoch(rng):
    replica, batch = Replica(rows()), batch_for(rows(), rng)
    losses = [replica.gradient(batch, epoch)[0] for epoch in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]
    other = Batch(columns=batch.columns, ids=batch.ids + np.uint64(1))
    assert replica.gradient(other, 0)[0] != losses[0]


def test_more_batch_sizes_than_programs_are_kept(rng):
    replica = trained(rows(), rng)
    sizes = [*range(1, PROGRAMS + 4), 1]
    batches = {n: batch_for(rows(), rng, range(n)) for n in sizes}
    losses = [replica.gradient(batches[n])[0] for n in sizes]
    assert losses[0] == losses[-1]


REFUSED = {
    "features of another shape": (lambda b: b.replace(features=b.features[:, :3]), "features"),
    "labels of another length": (lambda b: Labels(b, b.labels[:3]), "labels"),
    "labels that are no whole numbers": (lambda b: b.replace(labels=b.labels / 2), "labels"),
}


class Labels:
    """A batch whose columns differ in length, which Batch rejects."""

    def __init__(self, batch, labels):
        self.columns, self.ids = batch.columns | {"labels": labels}, batch.ids

    def __len__(self):
        return len(self.ids)


@pytest.mark.parametrize("name", REFUSED)
def test_batches_that_do_not_fit_are_refused(name, rng):
    change, column = REFUSED[name]
    with pytest.raises(ShapeError, match=f"input '{column}' needs .*, got "):
        Replica(rows()).gradient(change(batch_for(rows(), rng)))


IGNORING = {"ignore_label": 255}
LABELLED = {  # options of the loss, labels with an invalid one, and the error
    "negative": ({}, [0, -1], r"labels must be in \[0, output_1.units\), which is 3, got -1 in"),
    "too large": ({}, [2, 3], "which is 3, got 3 in example 1"),
    "not ignored": (IGNORING, [255, 254], r"or ignore_label \(255\), got 254 in example 1"),
}


@pytest.mark.parametrize("backend", sorted({"reference", get("auto").name}))
@pytest.mark.parametrize("name", LABELLED)
def test_a_label_that_is_no_class_is_refused_and_nothing_moves(name, backend, rng):
    options, labels, message = LABELLED[name]
    stack = [Output(units=3, loss=SoftmaxCrossEntropy(**options))]
    replica = Replica(NetworkConf(input_shape=(4,), layers=stack), backend)
    columns = {"features": rng.normal(size=(2, 4)), "labels": np.array(labels)}
    batch, before = Batch(columns=columns, ids=IDS[:2]), replica.params.copy()
    for use in (replica.gradient, replica.losses, lambda batch: replica.step(batch, 0.1, 1)):
        with pytest.raises(DataError, match=message):
            use(batch)
    np.testing.assert_array_equal(replica.params, before)
    assert replica.forward(batch)["output_1"].shape == (2, 3)


def test_a_gradient_of_no_example_is_refused(rng):
    """It was a ZeroDivisionError from inside."""
    replica, batch = Replica(rows()), batch_for(rows(), rng).take(slice(0, 0))
    for call in (replica.gradient, lambda batch: replica.step(batch, 0.1, 1)):
        with pytest.raises(DataError, match="needs a batch of one example or more, got none"):
            call(batch)
    assert len(replica.losses(batch)[1]) == 0


def test_a_label_that_is_no_class_but_ignored_is_taken(rng):
    stack = [Output(units=3, loss=SoftmaxCrossEntropy(ignore_label=-1))]
    replica = Replica(NetworkConf(input_shape=(4,), layers=stack))
    columns = {"features": rng.normal(size=(2, 4)), "labels": np.array([-1, 2])}
    batch = Batch(columns=columns, ids=IDS[:2])
    loss, _ = replica.gradient(batch)
    prediction, losses = replica.losses(batch)
    np.testing.assert_allclose(losses, [0, -np.log(prediction[1, 2])], rtol=1e-5)
    assert loss == pytest.approx(losses.sum())


def test_a_layer_that_does_not_exist_is_named():
    with pytest.raises(ConfigError, match="no layer 'dens_1'; did you mean 'dense_1'?"):
        Replica(rows()).forward(np.zeros((2, 4), np.float32), ["dens_1"])


def test_an_unknown_backend_is_refused():
    with pytest.raises((ConfigError, UnsupportedError), match="nosuch"):
        Replica(rows(), backend="nosuch").step(batch_for(rows(), np.random.default_rng(0)), 0.1, 1)


def test_describe_names_the_layers():
    text = Replica(rows(), "reference").describe(4)
    assert "dense_1" in text and "batchnorm_1" in text and "calls on reference" in text


def test_it_starts_as_the_network_says():
    replica = Replica(rows())
    np.testing.assert_array_equal(replica.params, initial_params(rows()))
    np.testing.assert_array_equal(replica.slots, initial_slots(rows()))
    assert not replica.grad.any()


@pytest.mark.parametrize("n, size", [(1, 1), (3, 3), (9, 10), (17, 20), (100, 112), (200, 224)])
def test_batches_of_any_size_share_a_few_programs(n, size):
    assert padded_size(n) == size
    column = pad(np.arange(1, n + 1), size)
    assert column.tolist() == [*range(1, n + 1), *[1] * (size - n)]


@pytest.mark.parametrize("n, size, padded", [(100, 100, 100), (99, 100, 100), (50, 100, 56)])
def test_a_batch_of_the_usual_size_is_not_padded(n, size, padded):
    assert padded_size(n, size) == padded
