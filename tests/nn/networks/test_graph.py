"""GraphConf: order, errors, several inputs and outputs, shared parameters, masks."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    BatchNorm,
    Conv2D,
    Dense,
    ElementWise,
    GraphBuilder,
    GraphConf,
    L2Distance,
    LossLayer,
    Merge,
    Momentum,
    NetworkConf,
    Output,
    ReverseTime,
    RnnOutput,
    Vertex,
    conf_from_dict,
    forward,
    initial_params,
)
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.losses import Dice, Mae, Mse, SoftmaxCrossEntropy
from sparkdl.nn.networks.graph import topological_order
from tests.nn.layer_cases import LAYERS
from tests.support.tables import for_all

IDS = np.arange(4, dtype=np.uint64)


def residual(**options):
    """Returns a graph with two inputs, a residual branch and two outputs."""
    build = GraphBuilder(image=(2, 4, 4), row=(3,))
    build.add(
        Conv2D(filters=2, kernel_size=3, padding="same", activation="tanh"), "image", name="conv"
    )
    build.add(ElementWise(), "image", "conv", name="sum")
    build.add(Dense(units=3, activation="tanh"), "sum", name="dense")
    build.add(Merge(), "dense", "row", name="merge")
    build.add(Output(units=3), "merge", name="kind")
    build.add(Output(units=2, loss="mse", loss_weight=0.5), "row", name="size")
    return build.conf(seed=3, **options)


def batch_of(conf, rng, n=4):
    shapes = {c: conf.input_shapes[name] for c, name in conf.feature_columns.items()}
    columns = {c: rng.normal(size=(n, *shape)).astype(np.float32) for c, shape in shapes.items()}
    for column, place in conf.label_columns.items():
        shape = (n, *place.label_shape)
        values = rng.normal(size=shape).astype(np.float32)
        classes = rng.integers(0, place.out_shape[-1], shape).astype(np.int32)
        columns[column] = classes if place.layer.label_kind == "class" else values
    return Batch(columns=columns, ids=np.arange(n, dtype=np.uint64))


def in_jax(params, image, row):
    """Computes `residual` by hand."""
    y = jax.lax.conv_general_dilated(image, params["conv/W"], (1, 1), "SAME")
    both = image + jnp.tanh(y + params["conv/b"][:, None, None])
    dense = jnp.tanh(both.reshape(len(both), -1) @ params["dense/W"] + params["dense/b"])
    kind = jnp.concatenate([dense, row], 1) @ params["kind/W"] + params["kind/b"]
    return kind, row @ params["size/W"] + params["size/b"]


def loss_in_jax(params, columns):
    kind, size = in_jax(params, columns["image"], columns["row"])
    picked = -jax.nn.log_softmax(kind)[jnp.arange(len(kind)), columns["kind"]]
    return picked + 0.5 * ((size - columns["size"]) ** 2).mean(1)


@pytest.mark.slow
def test_forward_of_several_inputs_and_outputs_is_that_of_jax(rng, x64):
    conf = residual()
    params = {name: rng.normal(size=shape) for name, shape in conf.params_layout.entries}
    x = {"image": rng.normal(size=(4, 2, 4, 4)), "row": rng.normal(size=(4, 3))}
    out = forward(conf, params, {}, x)
    for z, theirs in zip(out.scores.values(), in_jax(params, **x), strict=True):
        np.testing.assert_allclose(z, theirs, rtol=1e-9)


@pytest.mark.slow
def test_the_gradient_of_several_weighted_losses_is_that_of_jax(rng, x64):
    conf = residual(optimizer=Momentum(learning_rate=0.1))
    replica, batch = Replica(conf), batch_of(conf, rng)
    weights = np.array([1, 0, 2, 0.5], np.float32)
    batch = batch.replace(weights=weights)
    loss, examples = replica.gradient(batch)
    params = {n: np.float64(a) for n, a in replica.arrays()[0].items()}
    columns = {n: np.float64(c) if c.dtype.kind == "f" else c for n, c in batch.columns.items()}
    losses = loss_in_jax(params, columns)
    assert examples == 4 and loss == pytest.approx(float((losses * weights).sum()), rel=1e-5)
    grads = jax.jit(jax.grad(lambda p: (loss_in_jax(p, columns) * weights).mean()))(params)
    theirs = conf.params_layout.vector(grads, np.float64)
    np.testing.assert_allclose(replica.grad, theirs, rtol=1e-4, atol=1e-5 * abs(theirs).max())


def test_vertices_may_stand_in_any_order():
    conf = residual()
    other = GraphConf(inputs=dict(conf.inputs), vertices=conf.vertices[::-1], seed=3)
    assert {p.name for p in other.stack} == {p.name for p in conf.stack}
    for place in other.stack:
        before = [p.name for p in other.stack[: other.stack.index(place)]]
        assert all(s in before or s in other.input_shapes for s in place.sources)


def order_by_rule(graph):
    """Takes, again and again, the first listed vertex whose inputs are known."""
    known, waiting, order = set(graph.input_shapes), list(graph.vertices), []
    while waiting:
        ready = next(i for i, v in enumerate(waiting) if known.issuperset(v.inputs))
        order.append(waiting.pop(ready))
        known.add(order[-1].name)
    return order


@pytest.mark.parametrize("seed", range(8))
def test_vertices_come_in_the_order_given_as_far_as_it_goes(seed):
    rng = np.random.default_rng(seed)
    names, vertices = ["x", "z"], []
    for n in range(30):
        read = rng.choice(names, rng.integers(1, 4))  # possibly one twice
        vertices.append(Vertex(name=f"v{n}", layer=ElementWise(), inputs=(*map(str, read),)))
        names.append(f"v{n}")
    given = [vertices[i] for i in rng.permutation(len(vertices))]
    graph = SimpleNamespace(input_shapes={"x": (4,), "z": (4,)}, vertices=given)
    assert topological_order(graph) == order_by_rule(graph)


def test_the_order_compares_no_vertices(monkeypatch):
    conf = chain_backwards(50)

    def refuse(one, other):
        raise AssertionError("two vertices are compared")

    monkeypatch.setattr(Vertex, "__eq__", refuse)
    monkeypatch.setattr(Vertex, "__hash__", object.__hash__)
    assert [v.name for v in topological_order(conf)] == [f"d{n}" for n in range(50)]


def chain_backwards(n):
    layer = Dense(units=2)
    vertices = [
        Vertex(name=f"d{i}", layer=layer, inputs=f"d{i - 1}" if i else "x") for i in range(n)
    ]
    return SimpleNamespace(input_shapes={"x": (2,)}, vertices=vertices[::-1])


def test_all_of_a_circle_are_named():
    vertices = [
        Vertex(name=name, layer=DENSE, inputs=source)
        for name, source in (("c", "b"), ("a", "x"), ("b", "c"), ("behind", "b"))
    ]
    with pytest.raises(ConfigError, match="no cycle, got one among c, b, behind$"):
        GraphConf(inputs={"x": (4,)}, vertices=vertices)


def test_comes_back_from_json_and_yaml():
    conf = residual(optimizer=Momentum(learning_rate=0.1))
    assert conf_from_dict(conf.to_dict()) == conf
    assert GraphConf.from_yaml(conf.to_yaml()) == conf and hash(conf) == hash(
        residual(optimizer=Momentum(learning_rate=0.1))
    )
    assert isinstance(
        conf_from_dict(
            NetworkConf(input_shape=(2,), layers=[Output(units=1, loss="mse")]).to_dict()
        ),
        NetworkConf,
    )


@pytest.mark.slow
def test_every_layer_comes_back_inside_a_graph():
    def check(row):
        layer, in_shape = row
        shapes = in_shape if layer.multi_input else (in_shape,)
        inputs = {f"x{i}": shape for i, shape in enumerate(shapes)}
        conf = GraphConf(
            inputs=inputs, vertices=[Vertex(name="it", layer=layer, inputs=tuple(inputs))]
        )
        assert GraphConf.from_yaml(conf.to_yaml()) == conf
        assert conf.stack[-1].out_shape == layer.out_shape(in_shape)

    for_all((row for row in LAYERS if row[1]), check)


def test_a_chain_of_vertices_is_the_sequential_network(rng):
    layers = [
        Conv2D(filters=2, kernel_size=2, name="a"),
        BatchNorm(name="b"),
        Output(units=3, name="c"),
    ]
    sequential = NetworkConf(input_shape=(1, 4, 4), layers=layers)
    build = GraphBuilder(features=(1, 4, 4))
    for layer in layers:
        build.add(layer)
    graph = build.conf()
    assert graph.params_layout == sequential.params_layout
    batch = batch_of(sequential, rng)
    one, other = Replica(sequential), Replica(graph)
    other.load(one.params, one.buffers, one.slots)
    assert one.step(batch, 0.1, 1) == other.step(batch, 0.1, 1)
    np.testing.assert_array_equal(one.params, other.params)


def siamese():
    build = GraphBuilder(left=(3,), right=(3,))
    build.add(Dense(units=2, activation="tanh"), "left", name="one")
    build.add(Dense(units=2, activation="tanh"), "right", name="two", shares="one")
    build.add(L2Distance(), "one", "two", name="distance")
    build.add(LossLayer(loss="mse"), "distance", name="out")
    return build.conf()


@pytest.mark.slow
def test_shared_parameters_are_stored_once_and_get_both_gradients(rng, x64):
    conf = siamese()
    assert conf.parameter_count == 8
    replica, batch = Replica(conf), batch_of(conf, rng)
    replica.gradient(batch)

    def loss(params):
        ends = [
            jnp.tanh(batch.columns[c] @ params["one/W"] + params["one/b"])
            for c in ("left", "right")
        ]
        distance = jnp.sqrt(((ends[0] - ends[1]) ** 2).sum(1, keepdims=True) + 1e-8)
        return ((distance - batch.labels) ** 2).mean()

    params = {n: np.float64(a) for n, a in replica.arrays()[0].items()}
    theirs = conf.params_layout.vector(jax.grad(loss)(params), np.float64)
    np.testing.assert_allclose(replica.grad, theirs, rtol=1e-3, atol=1e-5)
    assert "those of one" in conf.summary()


def test_padded_steps_do_not_count(rng):
    conf = NetworkConf(input_shape=(5, 2), layers=[ReverseTime(), RnnOutput(units=3)])
    batch = batch_of(conf, rng)
    mask = (np.arange(5) < np.array([[5], [2], [3], [1]])).astype(np.float32)
    replica = Replica(conf)
    loss, _ = replica.gradient(batch.replace(mask=mask))
    grad, total = replica.grad.copy(), 0
    for i in range(4):  # each sequence alone, cut to its length
        length = int(mask[i].sum())
        columns = {name: column[i : i + 1, :length] for name, column in batch.columns.items()}
        total += replica.gradient(Batch(columns=columns, ids=batch.ids[i : i + 1]))[0]
        grad -= replica.grad / 4
    assert loss == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(grad, 0, atol=1e-6)


def test_the_mask_of_labels_goes_before_that_of_features(rng):
    conf = NetworkConf(input_shape=(3, 2), layers=[RnnOutput(units=2)])
    batch, replica = batch_of(conf, rng), Replica(conf)
    last = np.tile(np.float32([0, 0, 1]), (4, 1))
    found = replica.losses(batch.replace(mask=np.ones((4, 3), np.float32), labels_mask=last))[1]
    alone = Batch(columns={n: c[:, 2:] for n, c in batch.columns.items()}, ids=batch.ids)
    np.testing.assert_allclose(found, replica.losses(alone)[1], rtol=1e-5)


@pytest.mark.parametrize("padded", [True, False])
def test_records_without_a_mask_of_labels_have_that_of_the_output(padded, rng):
    conf = NetworkConf(input_shape=(3, 2), layers=[RnnOutput(units=2)])
    batch, replica = batch_of(conf, rng), Replica(conf)
    mask = {"mask": np.float32([[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 1, 0]])} if padded else {}
    own = np.float32([[1, 1, 1], [-1, -1, -1], [0, 0, 1], [-1, -1, -1]])
    counted = np.where(own < 0, mask.get("mask", 1), own)
    pairs = ({"labels_mask": own}, {"labels_mask": counted.astype(np.float32)})
    ours, wanted = (batch.replace(**mask, **labels) for labels in pairs)
    np.testing.assert_allclose(replica.losses(ours)[1], replica.losses(wanted)[1], rtol=1e-6)
    replica.gradient(wanted)
    grad = replica.grad.copy()
    replica.gradient(ours)
    np.testing.assert_allclose(replica.grad, grad, rtol=1e-5, atol=1e-7)


def test_every_pixel_may_have_a_label(rng, x64):
    layers = [Conv2D(filters=3, kernel_size=1), LossLayer()]
    conf = NetworkConf(input_shape=(2, 4, 5), layers=layers)
    x = rng.normal(size=(4, 2, 4, 5)).astype(np.float32)
    labels = rng.integers(0, 3, (4, 4, 5)).astype(np.int32)
    prediction, losses = Replica(conf).losses(
        Batch(columns={"features": x, "labels": labels}, ids=IDS)
    )
    z = forward(conf, conf.params_layout.views(initial_params(conf)), {}, x).logits
    log_p = jax.nn.log_softmax(z, axis=1)
    picked = np.take_along_axis(np.asarray(log_p), labels[:, None].astype(int), 1)
    np.testing.assert_allclose(prediction, np.exp(log_p), rtol=1e-4)
    np.testing.assert_allclose(losses, -picked.mean((1, 2, 3)), rtol=1e-4)


def one(layer, inputs="x", name="v", **options):
    return GraphConf(
        inputs={"x": (4,)}, vertices=[Vertex(name=name, layer=layer, inputs=inputs, **options)]
    )


DENSE = Dense(units=4)
REFUSED = [
    (
        lambda: GraphConf(inputs={}, vertices=[Vertex(name="v", layer=DENSE, inputs="x")]),
        "GraphConf.inputs must be a mapping of at least one name",
    ),
    (lambda: GraphConf(inputs={"x": (0,)}, vertices=()), "GraphConf.inputs must be a mapping"),
    (
        lambda: GraphConf(inputs={"x": (1,)}, vertices=()),
        "vertices must be a sequence of one or more Vertex or mappings",
    ),
    (lambda: one(DENSE, "y"), "v reads 'y', which does not exist"),
    (lambda: one(DENSE, name="x"), "names of inputs and vertices must be unique, got 'x' twice"),
    (lambda: one(DENSE, ("x", "x")), "Vertex.inputs must be one name, as Dense reads one input"),
    (lambda: one(DENSE, ()), "Vertex.inputs must be a sequence of one or more names"),
    (lambda: one(DENSE, "v"), "must have no cycle, got one among v"),
    (lambda: one(DENSE, shares="w"), "v reads 'w', which does not exist"),
    (lambda: one(Conv2D(filters=1, kernel_size=1)), "v cannot follow x (4,)"),
    (lambda: one(DENSE).loss, "GraphConf has no output layer"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=[m for _, m in REFUSED])
def test_refuses(make, message):
    with pytest.raises((ConfigError, ShapeError)) as caught:
        make()
    assert message in str(caught.value)


def test_refuses_to_share_arrays_of_other_shapes():
    build = GraphBuilder(a=(3,), b=(4,))
    build.add(Dense(units=2), "a", name="one")
    build.add(Dense(units=2), "b", name="two", shares="one")
    with pytest.raises(ConfigError, match="two cannot share"):
        build.conf()


def test_refuses_a_batch_without_a_column(rng):
    conf = residual()
    batch = batch_of(conf, rng)
    columns = {name: batch.columns[name] for name in ("image", "kind", "size")}
    with pytest.raises(ShapeError, match=r"takes the columns \['image', 'row', 'kind', 'size'\]"):
        Replica(conf).gradient(Batch(columns=columns, ids=batch.ids))


SUMMARY_HEAD = """\
layer          type         inputs         output shape  parameters
-------------------------------------------------------------------
image                                      (2, 4, 4)
row                                        (3,)
conv           Conv2D       image          (2, 4, 4)             38
sum            ElementWise  image, conv    (2, 4, 4)              0
dense/flatten  Flatten      sum            (32,)                  0"""


def test_the_summary_says_what_is_read():
    assert residual().summary().startswith(SUMMARY_HEAD)


def shared_labels(first=None, **second):
    """Returns two outputs that read the labels "kind"; options of the first and of the last."""
    build = GraphBuilder(row=(3,))
    options = {"units": 3, "labels": "kind", "loss_weight": 0.5}
    build.add(Output(**options | (first or {})), "row", name="half_way")
    build.add(Dense(units=4, activation="tanh"), "row")
    build.add(Output(**options | {"loss_weight": 1.0} | second), name="last")
    return build.conf()


def test_outputs_may_share_labels(rng):
    conf = shared_labels()
    assert list(conf.label_columns) == ["kind"] and conf.output.name == "last"
    batch = batch_of(conf, rng)
    replica = Replica(conf)
    total, _ = replica.gradient(batch)
    scores = {name: replica.forward(batch, [name])[name] for name in ("half_way", "last")}
    picked = {n: -np.log(y[IDS, batch.columns["kind"]]).sum() for n, y in scores.items()}
    assert total == pytest.approx(0.5 * picked["half_way"] + picked["last"], rel=1e-5)
    prediction, _ = replica.losses(batch)
    np.testing.assert_allclose(prediction, scores["last"], rtol=1e-5)


NOT_SHARED = {
    "of another size": ({"units": 4}, "last and half_way cannot share the labels 'kind'"),
    "of another kind": ({"loss": "mse"}, "last and half_way cannot share the labels 'kind'"),
    "an input": ({"labels": "features"}, "last.labels must be no input, got 'features'"),
    "no name": (
        {"labels": " "},
        "labels must be a column's name that is not empty or None, got ' '",
    ),
}


def test_a_label_that_is_no_class_is_ignored_by_all_outputs_that_share_it():
    """Another output would read it as a class: a Dice as a place of no class."""
    alone = {"loss": SoftmaxCrossEntropy(ignore_label=255)}
    with pytest.raises(ConfigError, match="share.*3 units and .*3 units, ignore_label 255"):
        shared_labels(first=alone, loss=Dice())
    with pytest.raises(ConfigError, match="cannot share the labels 'kind'"):
        shared_labels(first={"loss": Dice()}, **alone)
    assert shared_labels(first=alone, loss=Dice(ignore_label=255))
    assert shared_labels(first={"loss": SoftmaxCrossEntropy(ignore_label=0)}, loss=Dice())


def test_a_value_that_is_missing_is_ignored_by_all_outputs_that_share_it():
    """Another output would learn from it."""
    alone = {"loss": Mse(ignore_label=-1)}
    with pytest.raises(ConfigError, match="share.*3 units and .*3 units, ignore_label -1"):
        shared_labels(first=alone, loss="mae")
    assert shared_labels(first=alone, loss=Mae(ignore_label=-1))


@pytest.mark.parametrize("name", NOT_SHARED)
def test_labels_that_cannot_be_shared(name):
    options, says = NOT_SHARED[name]
    with pytest.raises(ConfigError, match=says):
        shared_labels(**options)


def named_outputs(*names):
    """Returns a network of losses with these names, of dense layers "size" and "kind"."""
    build = GraphBuilder(x=(2,))
    for source in ("size", "kind"):
        build.add(Dense(units=1), "x", name=source)
    for name in names:
        build.add(LossLayer(loss="mse"), name.partition("/")[0], name=name)
    return build.conf()


def test_a_loss_has_the_name_of_what_it_is_of():
    conf = named_outputs("size/loss", "kind/loss")
    assert list(conf.outputs_by_name) == ["size", "kind"]
    assert conf.output_named("kind").name == conf.output_named("kind/loss").name == "kind/loss"
    mixed = GraphBuilder(x=(2,))
    mixed.add(Output(units=1, loss="mse"), "x", name="size")
    mixed.add(LossLayer(loss="mse"), "x", name="size/loss")
    assert list(mixed.conf().outputs_by_name) == ["size", "size/loss"]
