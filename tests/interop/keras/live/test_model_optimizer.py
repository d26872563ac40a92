"""A Keras model trains with Keras's own optimizers, under masters as in one process."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Adam, ClipNorm, conf_from_json
from sparkdl.nn.schedules import Schedule
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.masters.all_reduce.master import AllReduceSGD
from sparkdl.training.masters.parameter_server.master import ParameterServer
from sparkdl.training.network import Network
from sparkdl.training.saving.checkpoint import Checkpoints
from tests.interop.keras.live.models import Partitions, model, whole_cnn
from tests.interop.keras.live.test_keras_replica import first_model, fit, vector_of
from tests.interop.keras.models import keras
from tests.training.master_table import MASTERS, assert_close, joint_batches
from tests.training.models import assert_equal, params_of_two_processes
from tests.training.problems import UNEVEN

OPTIMIZERS = {
    "Adadelta": lambda: keras.optimizers.Adadelta(0.5),
    "Adagrad": lambda: keras.optimizers.Adagrad(0.05),
    "Adam, amsgrad": lambda: keras.optimizers.Adam(0.01, amsgrad=True),
    "AdamW": lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1),
    "Adamax": lambda: keras.optimizers.Adamax(0.01),
    "Ftrl": lambda: keras.optimizers.Ftrl(0.05),
    "Lamb": lambda: keras.optimizers.Lamb(0.01),
    "Lion": lambda: keras.optimizers.Lion(0.001),
    "Nadam": lambda: keras.optimizers.Nadam(0.01),
    "RMSprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.9, centered=True),
    "SGD": lambda: keras.optimizers.SGD(0.05),
    "AdamW that warms up": lambda: keras.optimizers.AdamW(
        keras.optimizers.schedules.CosineDecay(0.0, 3, warmup_target=0.01, warmup_steps=2)
    ),
    "SGD that decays": lambda: keras.optimizers.SGD(
        keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5), momentum=0.9
    ),
    "SGD, Nesterov, clipped": lambda: keras.optimizers.SGD(
        0.05, momentum=0.9, nesterov=True, clipnorm=0.5
    ),
}


def adamw():
    import keras

    return keras.optimizers.AdamW(0.01)


def momentum():
    import keras

    return keras.optimizers.SGD(0.05, momentum=0.9)


def train(theirs, optimizer, batches):
    theirs.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    for batch in batches:
        theirs.train_on_batch(batch.features, batch.labels.astype(np.int32))


def one_batch():
    data = Partitions([20])
    return next(iter(data.read(data.splits()[0])))


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_moves_a_model_as_keras_does_and_goes_on_from_its_state(name):
    conf, batch = model(keras_optimizer=OPTIMIZERS[name]), one_batch()
    theirs = first_model(conf)
    train(theirs, OPTIMIZERS[name](), [batch] * 5)
    params = params_of_two_processes(conf, batch, 5)
    assert_close(params, vector_of(theirs), 1e-5)
    assert np.abs(params - vector_of(first_model(conf))).max() > 1e-3


def clipping_momentum():
    return keras.optimizers.SGD(0.05, momentum=0.9, global_clipnorm=0.05)


@pytest.mark.slow
def test_clipping_comes_before_the_optimizer_as_in_keras():
    conf, batch = model(keras_optimizer=momentum, clipping=ClipNorm(limit=0.05)), one_batch()
    theirs = first_model(conf)
    train(theirs, clipping_momentum(), [batch] * 5)
    params = params_of_two_processes(conf, batch, 5)
    assert_close(params, vector_of(theirs), 1e-5)
    plain = params_of_two_processes(replace(conf, clipping=None), batch, 5)
    assert np.abs(params - plain).max() > 1e-3


@pytest.mark.slow
def test_a_smaller_rate_is_the_optimizers():
    conf, batch = model(keras_optimizer=momentum), one_batch()
    theirs = first_model(conf)
    train(theirs, keras.optimizers.SGD(0.0125, momentum=0.9), [batch] * 3)
    replica = Network(conf).replica
    for t in range(1, 4):
        replica.step(batch, conf.rate_at(0, 0) / 4, t)
    assert_close(replica.params, vector_of(theirs), 1e-5)


@pytest.mark.slow
def test_updates_beyond_int32_move_a_model_like_late_ones():
    conf, batch, found = model(keras_optimizer=OPTIMIZERS["Nadam"]), one_batch(), []
    for t in (10**9, 2**31, 2**31 + 1, 2**40):
        replica = Network(conf).replica
        replica.load(replica.params, replica.buffers, np.full_like(replica.slots, 0.5))
        replica.step(batch, conf.rate_at(0, 0), t)
        found.append(replica.params.copy())
    assert np.isfinite(found[0]).all()
    for params in found[1:]:
        assert_close(params, found[0], 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaging by the driver", "all-reduce"])
def test_updates_are_those_of_keras_on_the_joint_batch(name, crews):
    row, workers, data = MASTERS[name], crews(2), Partitions(UNEVEN)
    master = replace(row.master, **row.joint)
    conf = model(keras_optimizer=momentum)
    network = fit(conf, master, workers, data, epochs=1)
    blocks = workers.load(
        data, schema_of(conf), master.records_per_block, replace(master, seed=conf.seed)
    )
    theirs = first_model(conf)
    train(theirs, momentum(), joint_batches(master, blocks, workers, conf, 0))
    assert_close(network.state.params, vector_of(theirs))


@pytest.mark.slow
def test_a_resumed_fit_ends_with_the_bits_of_the_uninterrupted_one(crews, tmp_path):
    data, master = Partitions(UNEVEN), MASTERS["all-reduce"].master
    conf = model(whole_cnn, keras_optimizer=adamw)
    whole = fit(conf, master, crews(2), data, epochs=2)
    network = Network(conf)
    network.fit(data, 1, master, crews(2), checkpoints=Checkpoints(path=tmp_path, every_rounds=1))
    resumed = Network(conf)
    resumed.fit(data, 2, master, crews(2), resume=tmp_path)
    assert whole.state.slots.any()
    assert_equal(resumed.state, whole.state)


def test_a_document_names_the_function_and_the_state():
    conf = model(keras_optimizer=adamw)
    again = conf_from_json(conf.to_json())
    assert again == conf and again.slots_layout == conf.slots_layout
    assert again.keras_optimizer.reference == f"{__name__}:adamw"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Adagrad", "AdamW", "Nadam"])
def test_a_worker_whose_first_update_is_a_later_one_begins_with_the_optimizers_state(name):
    conf, batch = model(keras_optimizer=OPTIMIZERS[name]), one_batch()
    one, late = (Network(conf).replica for _ in range(2))
    one.step(batch, conf.rate_at(0, 0), 1)
    late.step(batch, conf.rate_at(0, 0), 1)
    first = late.params.copy()
    np.testing.assert_array_equal(one.params, first)
    empty = Network(conf).replica
    empty.step(batch, conf.rate_at(0, 0), 6)
    assert np.abs(empty.params - first).max() < 0.02 and empty.slots.any()


def growing():
    return keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 1.5))


@pytest.mark.parametrize("name", ["AdamW that warms up", "SGD that decays"])
def test_a_document_has_the_schedule(name):
    conf = model(keras_optimizer=OPTIMIZERS[name])
    again = conf_from_json(conf.to_json())
    assert again == conf and isinstance(again.optimizer.learning_rate, Schedule)
    assert again.rate_at(2, 0) == pytest.approx(conf.optimizer.learning_rate.rate(2, 0))


def sparing():
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 9)
    optimizer = keras.optimizers.AdamW(schedule, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_names=["bias"])
    return optimizer


@pytest.mark.slow
def test_what_was_set_on_an_optimizer_with_a_schedule_stays():
    conf, batch = model(keras_optimizer=sparing), one_batch()
    theirs, replica = first_model(conf), Network(conf).replica
    train(theirs, sparing(), [batch] * 3)
    for t in range(1, 4):
        replica.step(batch, conf.rate_at(t - 1, 0), t)
    assert_close(replica.params, vector_of(theirs), 1e-5)


class Own(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return 0.1 / (step + 1)


REFUSED = {
    "a schedule of the user's": (
        {"keras_optimizer": lambda: keras.optimizers.SGD(Own())},
        "learning_rate is a number or a schedule that sparkdl has too",
    ),
    "a wrapper": (
        {"keras_optimizer": lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())},
        "learning_rate is a number or a schedule that sparkdl has too",
    ),
    "a schedule": (
        {"keras_optimizer": growing},
        "a schedule that sparkdl has too, got .*: decay_rate=1.5 is not",
    ),
    "an optimizer": (
        lambda: {"keras_optimizer": keras.optimizers.SGD()},
        r"must be a function without .* or None, got .*; write lambda: keras.optimizers.AdamW\(1",
    ),
    "an optimizer as sparkdl's": (
        lambda: {"keras_optimizer": None, "optimizer": keras.optimizers.SGD()},
        r"optimizer must be .*, got .*; write keras_optimizer=lambda: keras.optimizers.AdamW\(1e-3",
    ),
    "nothing": ({"keras_optimizer": lambda: None}, "must return a keras.optimizers.Optimizer"),
    "means": (
        {"keras_optimizer": lambda: keras.optimizers.SGD(0.1, use_ema=True)},
        "without use_ema, got True; leave it out and give KerasModel.optimizer with an ema_decay",
    ),
    "integers": ({"keras_optimizer": lambda: keras.optimizers.Adafactor(0.1)}, "float32, got bias"),
    "two": ({"optimizer": Adam(learning_rate=0.1)}, "optimizer must be left out with keras_optim"),
    "a penalty": ({"l2": 0.1}, "l2 must be 0 with keras_optimizer, got 0.1; set it in the"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name):
    options, message = REFUSED[name]
    given = options() if callable(options) else options  # an optimizer computes with JAX
    with pytest.raises(ConfigError, match=f"KerasModel.*{message}"):
        model(**{"keras_optimizer": adamw} | given)


@pytest.mark.slow
def test_servers_train_with_optimizers_of_sparkdl(crews):
    conf = model(keras_optimizer=adamw)
    with pytest.raises(ConfigError, match="leave KerasModel.keras_optimizer out, or take AllRed"):
        fit(conf, ParameterServer(), crews(2), Partitions([8, 8]))
    assert fit(conf, AllReduceSGD(), crews(2), Partitions([8, 8])).state.slots.any()


def test_a_framework_s_optimizer_keeps_no_average():
    network = Network(model(keras_optimizer=adamw))
    message = "KerasModel.optimizer must be one of sparkdl with an ema_decay for an average"
    with pytest.raises(ConfigError, match=message):
        network.with_averaged_weights()
