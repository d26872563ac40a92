"""Truncated backpropagation through time: segments, carried states, and reach of gradients."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.engine import ops
from sparkdl.errors import ConfigError
from sparkdl.nn import (
    GRU,
    LSTM,
    AvgPool1D,
    Bidirectional,
    Broadcasting,
    Conv1D,
    Conv1DTranspose,
    Cropping1D,
    Dense,
    DuplicateToTime,
    Flatten,
    Frozen,
    GraphConf,
    L2Distance,
    L2Normalize,
    LastTimeStep,
    LayerNorm,
    MatMul,
    MaxPool1D,
    Merge,
    NetworkConf,
    Output,
    PositionalEncoding,
    PositionEmbedding,
    Reduce,
    RepeatVector,
    Reshape,
    ReverseTime,
    RnnOutput,
    SelfAttention,
    Subset,
    TimeDistributed,
    UpSampling1D,
    Vertex,
    ZeroPadding1D,
    forward,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.execution.scoring import example_losses
from sparkdl.nn.inputs.tbptt import check_carries, chunks
from sparkdl.nn.losses import Ctc
from tests.nn.support import value_and_gradients

N, T = 3, 10


def network(tbptt=(4, 3), layers=None, **options):
    layers = layers or [LSTM(units=3), GRU(units=2), RnnOutput(units=2)]
    return NetworkConf(**{"input_shape": (T, 2), "layers": layers, "tbptt": tbptt} | options)


def batch(rng, **columns):
    features = rng.normal(size=(N, T, 2)).astype(np.float32)
    columns = {"features": features, "labels": rng.integers(0, 2, (N, T))} | columns
    return Batch(columns=columns, ids=np.arange(N, dtype=np.uint64))


def test_a_batch_is_cut_along_its_steps(rng):
    whole = batch(rng, mask=np.ones((N, T)), weights=np.ones(N), labels_mask=np.zeros((N, T)))
    parts = list(chunks(network(), whole))
    assert [part.features.shape[1] for part, _, _ in parts] == [4, 4, 2]
    assert [share for _, share, _ in parts] == pytest.approx([0.4, 0.4, 0.2])
    for name in ("features", "labels", "mask", "labels_mask"):
        joined = np.concatenate([part.columns[name] for part, _, _ in parts], 1)
        np.testing.assert_array_equal(joined, whole.columns[name])
    assert all(part.columns["weights"] is whole.columns["weights"] for part, _, _ in parts)
    assert len({i for part, _, _ in parts for i in part.ids.tolist()}) == 3 * N
    assert len({id(states) for _, _, states in parts}) == 1


def test_without_tbptt_a_batch_stays_whole(rng):
    whole = batch(rng)
    assert list(chunks(network(tbptt=None), whole)) == [(whole, 1, None)]


def test_a_chunk_of_all_steps_has_the_gradient_of_the_whole(rng):
    cut, plain = Replica(network((T, T))), Replica(network(None))
    whole = batch(rng)
    assert cut.gradient(whole, states={}) == pytest.approx(plain.gradient(whole))
    np.testing.assert_allclose(cut.grad, plain.grad, rtol=1e-5, atol=1e-7)


def test_gradients_of_a_later_chunk_start_from_the_states_before(rng):
    conf = network()
    replica, states = Replica(conf), {}
    (first, *_), (second, *_), _ = chunks(conf, batch(rng))
    replica.gradient(first, states=states)
    before = {name: state.astype(float) for name, state in states.items()}
    assert {name: state.shape[1:] for name, state in before.items()} == conf.state_shapes
    loss, _ = replica.gradient(second, states=states)
    arrays = {name: view.astype(float) for name, view in replica.arrays()[0].items()}

    def value(*params):
        given = dict(zip(arrays, params, strict=True))
        options = {"training": True, "states": before, "backward_steps": 3}
        result = forward(conf, given, {}, second.features.astype(float), **options)
        return ops.sum(example_losses(conf, result, {"labels": second.labels})) / N

    expected, grads = value_and_gradients(value, *arrays.values())
    assert loss == pytest.approx(expected * N, rel=1e-5)
    views = conf.params_layout.views(replica.grad)
    for view, grad in zip(views.values(), grads, strict=True):
        np.testing.assert_allclose(view, grad, rtol=1e-4, atol=1e-6)
    assert any((states[name] != before[name]).any() for name in states)


def test_states_of_other_sequences_are_refused(rng):
    replica, states = Replica(network()), {}
    replica.gradient(batch(rng), states=states)
    with pytest.raises(ConfigError, match="the states are those of 3 sequences, got 2"):
        replica.gradient(batch(rng).take(slice(2)), states=states)


def test_comes_back_from_json():
    conf = network()
    assert NetworkConf.from_json(conf.to_json()) == conf


def test_a_graph_may_be_cut_too():
    vertices = [
        Vertex(name="lstm", layer=LSTM(units=2), inputs="x"),
        Vertex(name="out", layer=RnnOutput(units=2), inputs="lstm"),
    ]
    conf = GraphConf(inputs={"x": (T, 2)}, vertices=vertices, tbptt=[5, 5])
    assert GraphConf.from_json(conf.to_json()) == conf


def test_what_sees_a_step_alone_gives_in_chunks_what_it_gives_of_the_whole(rng):
    alone = Conv1D(filters=3, kernel_size=1)
    inside = TimeDistributed(layer=Reshape(shape=(2, 2)))
    windows = TimeDistributed(layer=Conv1D(filters=2, kernel_size=2))
    flat = TimeDistributed(layer=Flatten())
    layers = [alone, LSTM(units=4), inside, windows, flat, RnnOutput(units=2)]
    replica, whole, states = Replica(network(layers=layers)), batch(rng), {}
    name, x = replica.conf.output.name, whole.features
    parts = [replica.forward(part, [name], states)[name] for part in (x[:, :4], x[:, 4:])]
    together = replica.forward(x, [name])[name]
    np.testing.assert_allclose(np.concatenate(parts, 1), together, rtol=1e-5, atol=1e-6)


REST = [LSTM(units=2), RnnOutput(units=2)]
NUMBERS = "NetworkConf.tbptt must be (forward, backward), numbers of steps with"
REFUSALS = {
    "one number": ({"tbptt": 5}, "NetworkConf.tbptt must be two integers >= 1 or None, got 5"),
    "no steps": ({"tbptt": (5, 0)}, "NetworkConf.tbptt[1] must be an integer >= 1, got 0"),
    "further back than the chunk": ({"tbptt": (5, 6)}, NUMBERS),
    "nothing is carried": ({"layers": [RnnOutput(units=2)]}, "no recurrent layer"),
    "both directions": (
        {"layers": [Bidirectional(layer=LSTM(units=2)), RnnOutput(units=2)]},
        "bidirectional_1 reads sequences from their end",
    ),
    "both directions, frozen": (
        {"layers": [Frozen(layer=Bidirectional(layer=GRU(units=2))), RnnOutput(units=2)]},
        "frozen_1 reads sequences from their end",
    ),
    "reversed": (
        {"layers": [ReverseTime(), *REST]},
        "reversetime_1 reads sequences from their end",
    ),
    "attention": ({"layers": [SelfAttention(), *REST]}, "selfattention_1 sees more than one step"),
    "causal attention, frozen": (
        {"layers": [Frozen(layer=SelfAttention(causal=True)), *REST]},
        "frozen_1 sees more than one step of a sequence: no state of it can be carried",
    ),
    "positions": ({"layers": [PositionalEncoding(), *REST]}, "positionalencoding_1 sees more"),
    "learned positions": ({"layers": [PositionEmbedding(), *REST]}, "positionembedding_1 sees"),
    "windows": (
        {"layers": [Conv1D(filters=2, kernel_size=3, padding="causal"), *REST]},
        "conv1d_1 sees more than one step",
    ),
    "pools": (
        {"layers": [MaxPool1D(size=3, stride=1, padding="same"), *REST]},
        "maxpool1d_1 sees more than one step",
    ),
    "padding around single steps": (
        {
            "layers": [
                Conv1D(filters=2, kernel_size=1, padding=(1, 1)),
                Cropping1D(amount=(2, 0)),
                *REST,
            ]
        },
        "conv1d_1 sees more than one step",
    ),
    "steps that are left out and made up": (
        {"layers": [MaxPool1D(size=1, stride=2), UpSampling1D(size=2), *REST]},
        "maxpool1d_1 sees more than one step",
    ),
    "zeros between single steps": (
        {
            "layers": [
                Conv1DTranspose(filters=2, kernel_size=1, stride=2, output_padding=1),
                AvgPool1D(size=2),
                *REST,
            ]
        },
        "conv1dtranspose_1 sees more than one step",
    ),
    "length of a sequence": ({"layers": [L2Normalize(), *REST]}, "l2normalize_1 sees more than"),
    "length of a sequence, frozen": (
        {"layers": [Frozen(layer=L2Normalize()), *REST]},
        "frozen_1 sees more than one step",
    ),
    "some steps": (
        {"layers": [Subset(axis=0, start=0, stop=5), UpSampling1D(size=2), *REST]},
        "subset_1 sees more than one step",
    ),
    "a summary at each step": (
        {"layers": [LastTimeStep(), RepeatVector(count=T), *REST]},
        "repeatvector_1 feeds lasttimestep_1, which summarizes a whole sequence, back to its steps",
    ),
    "statistics of all steps, counted from behind": (
        {"layers": [LayerNorm(axes=-2), *REST]},
        "layernorm_1 sees more than one step",
    ),
    "statistics of all steps": (
        {"layers": [LayerNorm(axes=(0, 1)), *REST]},
        "layernorm_1 sees more than one step",
    ),
    "labels of a whole sequence": (
        {"layers": [LSTM(units=2), RnnOutput(units=5, loss=Ctc(label_length=4))]},
        "tbptt cuts labels where it cuts sequences: rnnoutput_1 must have a loss with a label for "
        "each step, got Ctc",
    ),
    "margins": (
        {"layers": [ZeroPadding1D(amount=(1, 0)), Cropping1D(amount=(0, 1)), *REST]},
        "zeropadding1d_1 sees more than one step",
    ),
    "longer": (
        {"layers": [UpSampling1D(size=2), *REST]},
        "tbptt needs inputs and outputs of as many steps, got [(10, 2), (20, 2)]",
    ),
    "shorter": (
        {"layers": [Conv1D(filters=2, kernel_size=1, stride=2), *REST]},
        "tbptt needs inputs and outputs of as many steps, got [(10, 2), (5, 2)]",
    ),
    "one label per sequence": (
        {"layers": [LSTM(units=2), LastTimeStep(), Dense(units=2), Output(units=2)]},
        "tbptt needs sequences (steps, features) as inputs and outputs",
    ),
}


X, Y = (Vertex(name=n, layer=Dense(units=2), inputs="x") for n in ("a", "b"))
JOINED = {
    "steps joined": (Merge(axis=0), ("a", "b"), "m sees more than one step"),
    "steps joined, counted from behind": (Merge(axis=-2), ("a", "b"), "m sees more than one step"),
    "sums over steps": (MatMul(transpose_a=True), ("a", "b"), "m sees more than one step"),
    "the last step at each": (DuplicateToTime(), ("last", "b"), "m feeds last, which"),
    "the last state at each": (DuplicateToTime(), ("state", "b"), "m feeds state, which"),
    "what follows from it": (DuplicateToTime(), ("after", "b"), "m feeds after, which"),
    "the last step, added": (Broadcasting(axis=1), ("b", "last"), "m feeds last, which"),
}


def joining(layer, inputs):
    """Returns a network whose layer "m" joins sequences, their summaries or a row of data."""
    vertices = [
        X,
        Y,
        Vertex(name="last", layer=LastTimeStep(), inputs="a"),
        Vertex(name="state", layer=LSTM(units=2, return_sequences=False), inputs="a"),
        Vertex(name="after", layer=Dense(units=2), inputs="state"),
        Vertex(name="m", layer=layer, inputs=inputs),
        Vertex(name="lstm", layer=LSTM(units=2), inputs="m"),
        Vertex(name="out", layer=RnnOutput(units=2), inputs="lstm"),
    ]
    used = {*inputs, "a", "m", "lstm", "out"} | ({"state"} if "after" in inputs else set())
    kept = [vertex for vertex in vertices if vertex.name in used]
    rows = {"row": (2,)} if "row" in inputs else {}
    return GraphConf(inputs={"x": (T, 2)} | rows, vertices=kept)


@pytest.mark.parametrize("case", JOINED)
def test_refuses_to_carry_a_state_through_what_sees_all_steps(case):
    layer, inputs, words = JOINED[case]
    with pytest.raises(ConfigError) as error:
        check_carries(joining(layer, inputs))
    assert words in str(error.value)


LISTED = {
    "a number of each step": (Reduce(axis=1), Reshape(shape=(-1, 1))),
    "all numbers in a row": (Flatten(), Reshape(shape=(-1, 2))),
    "in a row by Reshape": (Reshape(shape=(-1,)), Reshape(shape=(-1, 2))),
}


@pytest.mark.parametrize("name", LISTED)
def test_a_row_of_all_steps_may_become_steps_again(name):
    layers = [LSTM(units=2), *LISTED[name], RnnOutput(units=2)]
    check_carries(NetworkConf(input_shape=(T, 2), layers=layers))


@pytest.mark.parametrize("before", [Flatten(), Reshape(shape=(-1,))], ids=str)
def test_what_follows_from_a_row_of_all_steps_sums_them_up(before):
    layers = [before, Dense(units=2 * T), Reshape(shape=(T, 2)), LSTM(units=2), RnnOutput(units=2)]
    with pytest.raises(ConfigError, match="reshape_.* feeds dense_1, which summarizes"):
        check_carries(NetworkConf(input_shape=(T, 2), layers=layers))


CARRIED = {
    "a row of the data": (DuplicateToTime(), ("row", "a")),
    "a factor of the data": (Broadcasting(axis=1), ("a", "row")),
    "features joined": (Merge(), ("a", "b")),
    "each step normalized": (Frozen(layer=TimeDistributed(layer=L2Normalize())), ("a",)),
    "windows of one step": (Conv1D(filters=2, kernel_size=1, padding="same"), ("a",)),
    "pools of one step": (MaxPool1D(size=1), ("a",)),
    "the transpose of windows of one step": (Conv1DTranspose(filters=2, kernel_size=1), ("a",)),
    "features normalized": (LayerNorm(axes=-1), ("a",)),
}


@pytest.mark.parametrize("case", CARRIED)
def test_carries_a_state_through_what_sees_a_step_alone(case, rng):
    conf = joining(*CARRIED[case])
    check_carries(conf)
    replica, states = Replica(conf), {}
    shapes = {column: conf.input_shapes[name] for column, name in conf.feature_columns.items()}
    given = {c: rng.normal(size=(N, *shape)).astype(np.float32) for c, shape in shapes.items()}
    whole, *parts = (
        Batch(
            columns={c: x[:, steps] if x.ndim == 3 else x for c, x in given.items()},
            ids=np.arange(N, dtype=np.uint64),
        )
        for steps in (slice(None), slice(4), slice(4, None))
    )
    found = [replica.forward(part, ["out"], states)["out"] for part in parts]
    together = replica.forward(whole, ["out"])["out"]
    np.testing.assert_allclose(np.concatenate(found, 1), together, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("inputs, steps", [((T, 2), True), ((2,), False), ((2, T, 2), False)])
@pytest.mark.parametrize("layer", [L2Distance(), L2Normalize(), Reduce(axis=0)], ids=str)
def test_what_is_of_an_example_as_a_whole_mixes_the_steps_of_sequences(layer, inputs, steps):
    in_shape = (inputs, inputs) if layer.multi_input else inputs
    assert layer.mixes_steps(in_shape) == Frozen(layer=layer).mixes_steps(in_shape) == steps


def test_a_row_of_features_is_normalized_beside_a_state():
    """A row has no steps, so neither its norm nor a LayerNorm along axis 0 mixes steps."""
    last = [LSTM(units=2, return_sequences=False), L2Normalize(), LayerNorm(axes=0)]
    check_carries(network(None, [*last, Output(units=2)]))


@pytest.mark.parametrize("case", REFUSALS)
def test_refuses(case):
    options, words = REFUSALS[case]
    with pytest.raises(ConfigError) as error:
        network(**options)
    assert words in str(error.value)
