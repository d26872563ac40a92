"""Recurrent layers: padding, carried states, truncated gradients, initial values, errors."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import GraphConf, NetworkConf, Vertex
from sparkdl.nn.layers import (
    GRU,
    LSTM,
    BatchNorm,
    Bidirectional,
    Dense,
    Dropout,
    GravesLSTM,
    LastTimeStep,
    Masking,
    RnnOutput,
    SimpleRnn,
    TimeDistributed,
)
from sparkdl.nn.layers.core.run import Run
from sparkdl.nn.optimization.penalty import coefficients
from tests.nn.support import label, run_as_graph, value_and_gradients

KINDS = [
    LSTM(units=3),
    GravesLSTM(units=2),
    GRU(units=3),
    GRU(units=3, reset_after=False),
    SimpleRnn(units=4),
]
BOTH = [*KINDS, *(Bidirectional(layer=layer) for layer in KINDS)]
kinds = pytest.mark.parametrize("layer", KINDS, ids=str)


def drawn(layer, in_shape, rng):
    return {n: rng.normal(size=shape) for n, shape in layer.param_shapes(in_shape).items()}


def run(**options):
    return Run(training=True, seed=1, **options)


@pytest.mark.parametrize("layer", BOTH, ids=str)
def test_padding_changes_nothing(layer, rng):
    x, params = rng.normal(size=(1, 6, 2)), drawn(layer, (6, 2), rng)
    mask = np.array([[1, 1, 1, 1, 0, 0]], float)
    y = layer.forward(params, x, run(masks=(mask,)))
    alone = layer.forward(params, x[:, :4], run())
    np.testing.assert_allclose(y[:, :4], alone, rtol=1e-12)
    assert not y[:, 4:].any()


@pytest.mark.parametrize("layer", BOTH, ids=str)
def test_the_last_output_is_that_of_the_last_real_step(layer, rng):
    inner = getattr(layer, "layer", layer)
    last = replace(inner, return_sequences=False)
    last = replace(layer, layer=last) if layer is not inner else last
    x, params = rng.normal(size=(1, 6, 2)), drawn(layer, (6, 2), rng)
    mask = np.array([[1, 1, 1, 1, 0, 0]], float)
    y = last.forward(params, x, run(masks=(mask,)))
    np.testing.assert_allclose(y, last.forward(params, x[:, :4], run()), rtol=1e-12)
    assert last.out_mask(mask, (6, 2)) is None


@kinds
def test_two_halves_with_the_state_between_are_the_whole(layer, rng):
    x, params = rng.normal(size=(2, 5, 2)), drawn(layer, (5, 2), rng)
    first = run()
    halves = [layer.forward(params, x[:, :3], first)]
    assert {n: s.shape[1:] for n, s in first.results.states.items()} == layer.state_shapes((5, 2))
    halves.append(layer.forward(params, x[:, 3:], run(states=first.results.states)))
    whole = layer.forward(params, x, run())
    np.testing.assert_allclose(np.concatenate(halves, 1), whole, rtol=1e-12)


@kinds
def test_gradients_go_back_so_many_steps_and_no_further(layer, rng):
    x, params = rng.normal(size=(2, 5, 3)), drawn(layer, (5, 3), rng)
    early = run()
    layer.forward(params, x[:, :3], early)
    states = early.results.states

    def cut(*arrays):
        pass_ = run(backward_steps=2)
        return ops.sum(ops.square(layer.forward(dict(zip(params, arrays)), x, pass_)))

    def late(*arrays):
        pass_ = run(states=states)
        return ops.sum(ops.square(layer.forward(dict(zip(params, arrays)), x[:, 3:], pass_)))

    value, found = value_and_gradients(cut, *params.values())
    assert value == pytest.approx(float((layer.forward(params, x, run()) ** 2).sum()))
    for grad, wanted in zip(found, value_and_gradients(late, *params.values())[1], strict=True):
        np.testing.assert_allclose(grad, wanted, rtol=1e-9, atol=1e-12)


def test_more_backward_steps_than_there_are_cut_nothing(rng):
    layer = LSTM(units=2)
    x, params = rng.normal(size=(2, 5, 3)), drawn(layer, (5, 3), rng)
    y = layer.forward(params, x, run(backward_steps=9))
    np.testing.assert_array_equal(y, layer.forward(params, x, run()))


def test_a_sequence_starts_anew_where_the_indicator_is_zero(rng):
    layer = LSTM(units=2, continuation=True)
    x, params = rng.normal(size=(1, 5, 3)), drawn(layer, ((5, 3), (5,)), rng)
    plain = LSTM(units=2)
    y = layer.forward(params, (x, np.array([[0.0, 1, 1, 0, 1]])), run())
    parts = [plain.forward(params, part, run()) for part in (x[:, :3], x[:, 3:])]
    np.testing.assert_allclose(y, np.concatenate(parts, 1), rtol=1e-12)


def test_first_values(rng):
    layer = LSTM(units=3)
    b = layer.initial("b", (12,), rng)
    np.testing.assert_array_equal(b, [0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0])
    rw = layer.initial("RW", (3, 12), rng)
    np.testing.assert_allclose(rw @ rw.T, np.eye(3), atol=1e-12)
    assert not GravesLSTM(units=3).initial("P", (9,), rng).any()
    both = Bidirectional(layer=layer)
    np.testing.assert_array_equal(both.initial("backward_b", (12,), rng), b)


def test_choices_about_training_hold_inside_wrappers():
    inner = LSTM(units=2, bias_l2=0.5, rate_factor=3.0)
    layers = [
        Bidirectional(layer=inner),
        TimeDistributed(layer=Dense(units=2)),
        RnnOutput(units=2),
    ]
    conf = NetworkConf(input_shape=(4, 3), layers=layers, l2=0.25, activation="tanh")
    both, distributed, _ = conf.layers
    assert (both.rate_factor, conf.stack[0].layer.l2) == (3.0, 0.25)
    views = conf.params_layout.views(coefficients(conf, "l2"))
    assert (views["bidirectional_1/forward_RW"] == 0.25).all()
    assert (views["bidirectional_1/backward_b"] == 0.5).all()
    assert (views["timedistributed_1/W"] == 0.25).all()
    assert conf.stack[1].layer.layer.activation.type_name == "tanh"
    assert distributed.penalized == ("W",)
    with pytest.raises(AttributeError):
        assert both.nothing


def test_masking_looks_for_steps_of_one_value(rng):
    x = rng.normal(size=(2, 3, 2))
    x[0, 1:], x[1, 0, 0] = -1, -1
    pass_ = run(masks=(np.array([[1.0, 1, 1], [1, 1, 0]]),))
    y = Masking(value=-1).forward({}, x, pass_)
    np.testing.assert_array_equal(pass_.results.masks[0], [[1, 0, 0], [1, 1, 0]])
    assert not y[0, 1:].any() and not y[1, 2].any()
    np.testing.assert_array_equal(y[1, :2], x[1, :2])


def test_a_step_with_nan_is_no_padding():
    x = np.array([[[np.nan, 0], [0, 0], [np.nan, np.nan], [np.inf, 0]]])

    def masked(x):
        pass_ = run()
        return Masking().forward({}, x, pass_), pass_.results.masks[0]

    for y, mask in (masked(x), run_as_graph(masked, x)):
        np.testing.assert_array_equal(mask, [[1, 0, 1, 1]])
        np.testing.assert_array_equal(y, x)


def test_the_last_step_is_where_the_mask_says(rng):
    x = rng.normal(size=(4, 3, 2))
    mask = np.array([[1.0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]])
    y = LastTimeStep().forward({}, x, run(masks=(mask,)))
    np.testing.assert_array_equal(y, [x[0, 2], x[1, 0], x[2, 1], [0, 0]])


def test_what_is_random_at_each_step_is_drawn_for_each_step():
    layer = TimeDistributed(layer=Dropout(rate=0.5))
    ids = np.array([3, 8], np.uint64)
    x = np.ones((2, 70, 5), np.float32)
    y = layer.forward({}, x, run(ids=ids))
    assert len(np.unique(y.reshape(-1, 5), axis=0)) > 20
    again = layer.forward({}, x[1:], run(ids=ids[1:]))
    np.testing.assert_array_equal(y[1:], again)


def test_padded_steps_do_not_count_in_a_layer_at_each_step(rng):
    layer, x = TimeDistributed(layer=BatchNorm(momentum=0.0)), rng.normal(2, 3, size=(2, 4, 3))
    mask = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], float)
    pass_ = run(masks=(mask,), buffers={"mean": np.zeros(3), "variance": np.ones(3)})
    y, there = layer.forward({"gamma": np.ones(3), "beta": np.zeros(3)}, x, pass_), x[mask == 1]
    mean, variance = there.mean(0), there.var(0)
    np.testing.assert_allclose(y[mask == 1], (there - mean) / np.sqrt(variance + 1e-5))
    np.testing.assert_allclose(pass_.updates["mean"], mean)
    np.testing.assert_allclose(pass_.updates["variance"], variance)


def test_a_graph_feeds_indicators():
    conf = GraphConf(
        inputs={"x": (5, 3), "cont": (5,)},
        vertices=[
            Vertex(name="lstm", layer=LSTM(units=4, continuation=True), inputs=("x", "cont")),
            Vertex(name="out", layer=RnnOutput(units=2), inputs="lstm"),
        ],
    )
    assert conf.state_shapes == {"lstm/h": (4,), "lstm/c": (4,)}
    assert GraphConf.from_json(conf.to_json()) == conf


REFUSALS = [
    (lambda: LSTM(units=0), "LSTM.units must be an integer >= 1, got 0"),
    (lambda: GRU(units=1, reset_after=1), "GRU.reset_after must be True or False, got 1"),
    (lambda: LSTM(units=1, continuation=None), "LSTM.continuation must be True or False"),
    (lambda: LSTM(units=1, forget_bias="1"), "forget_bias must be a finite number, got '1'"),
    (lambda: LSTM(units=1, gate_activation="tanh"), "must be sigmoid or hard_sigmoid, got Tanh"),
    (lambda: SimpleRnn(units=1, activation="elu"), "SimpleRnn.activation must be tanh or relu"),
    (
        lambda: TimeDistributed(layer=RnnOutput(units=1, loss="mse")),
        "TimeDistributed.layer must be a layer with one input, and no output layer",
    ),
    (lambda: Masking(value="0"), "Masking.value must be a finite number, got '0'"),
    (
        lambda: Bidirectional(layer=Dense(units=1)),
        "Bidirectional.layer must be a recurrent layer without continuation, got Dense",
    ),
    (
        lambda: Bidirectional(layer=LSTM(units=1, continuation=True)),
        "Bidirectional.layer must be a recurrent layer without continuation",
    ),
    (
        lambda: Bidirectional(layer=LSTM(units=1), mode="sum"),
        "Bidirectional.mode must be 'concat', 'add', 'mul' or 'average', got 'sum'",
    ),
    (
        lambda: NetworkConf(
            input_shape=(4, 3),
            layers=[LSTM(units=1, continuation=True), RnnOutput(units=1, loss="mse")],
        ),
        "got LSTM, which joins several; use a GraphConf",
    ),
]
SHAPES = [
    (LSTM(units=1), (4,), "LSTM takes sequences (steps, features), got (4,)"),
    (GRU(units=1, continuation=True), ((4, 2), (3,)), "sequences (steps, features) and indicators"),
    (TimeDistributed(layer=Dense(units=1)), (4,), "TimeDistributed takes sequences (steps, ...)"),
    (TimeDistributed(layer=LSTM(units=1)), (4, 3, 2), "a layer that carries no state, got LSTM"),
    (LastTimeStep(), (3,), "LastTimeStep takes sequences (steps, features), got (3,)"),
]


@pytest.mark.parametrize("make, words", REFUSALS, ids=label)
def test_refuses_options(make, words):
    with pytest.raises(ConfigError) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize("layer, in_shape, words", SHAPES, ids=label)
def test_refuses_shapes(layer, in_shape, words):
    with pytest.raises(ShapeError) as error:
        layer.out_shape(in_shape)
    assert words in str(error.value)
