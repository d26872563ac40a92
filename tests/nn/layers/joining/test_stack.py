"""Stack and Unstack, which change the batch size."""

import numpy as np
import pytest

from sparkdl.engine import ops
from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import (
    BatchReindex,
    Dense,
    Dropout,
    GlobalPool,
    GraphBuilder,
    Merge,
    Output,
    Stack,
    Unstack,
    forward,
    initial_params,
)
from sparkdl.nn.layers.core.run import Run
from tests.nn.support import value_and_gradients

RUN = Run(training=False, seed=0)


@pytest.mark.slow
def test_unstacking_gives_back_what_was_stacked(rng):
    parts = tuple(rng.normal(size=(3, 4)) for _ in range(3))
    together = Stack().forward({}, parts, RUN)
    assert together.shape == (9, 4)
    for index, part in enumerate(parts):
        apart = Unstack(index=index, count=3).forward({}, together, RUN)
        np.testing.assert_array_equal(apart, part)


def test_masks_are_stacked_too():
    masks = np.ones((2, 5)), np.zeros((2, 5))
    together = Stack().out_mask(masks, ((5, 1), (5, 1)))
    np.testing.assert_array_equal(together, np.concatenate(masks))
    np.testing.assert_array_equal(Unstack(index=1, count=2).out_mask(together, (5, 1)), masks[1])


def test_a_layer_between_works_on_all(rng):
    build = GraphBuilder(a=(4,), b=(4,))
    build.add(Stack(), "a", "b", name="both")
    build.add(Dense(units=3), "both", name="shared")
    one = build.add(Unstack(index=0, count=2), "shared")
    two = build.add(Unstack(index=1, count=2), "shared")
    build.add(Output(units=2), build.add(Merge(), one, two))
    conf, x = build.conf(), {"a": rng.normal(size=(5, 4)), "b": rng.normal(size=(5, 4))}
    params = {name: rng.normal(size=shape) for name, shape in conf.params_layout.entries}
    out = forward(conf, params, {}, x)
    hidden = [x[name] @ params["shared/W"] + params["shared/b"] for name in "ab"]
    z = np.concatenate(hidden, 1) @ params["output_1/W"] + params["output_1/b"]
    np.testing.assert_allclose(out.logits, z)


def test_the_copies_of_an_example_get_random_numbers_of_their_own():
    build = GraphBuilder(a=(50,))
    build.add(Stack(), "a", "a")
    build.add(Dropout(rate=0.5))
    build.add(Output(units=1, loss="mse"))
    conf, ids = build.conf(), np.arange(2, dtype=np.uint64)
    x, params = np.ones((2, 50)), {"output_1/W": np.ones((50, 1)), "output_1/b": np.zeros(1)}
    out = forward(conf, params, {}, x, training=True, ids=ids, outputs=["dropout_1"])
    masks = out.activations["dropout_1"]
    assert len({row.tobytes() for row in masks}) == 4


REFUSED = [
    (lambda: Unstack(index=2, count=2), "Unstack.index must be an integer in [0, 2), got 2"),
    (lambda: Unstack(index=0, count=0), "Unstack.count must be an integer >= 1, got 0"),
    (lambda: Stack().out_shape(((2,), (3,))), "Stack needs inputs of one shape"),
    (lambda: Stack().out_mask((None, np.ones((1, 2))), ((2, 1),) * 2), "a mask for each input"),
    (lambda: Unstack(index=0, count=2).forward({}, np.ones((3, 1)), RUN), "batches of one size"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=[m for _, m in REFUSED])
def test_refuses(make, message):
    with pytest.raises((ConfigError, ShapeError)) as caught:
        make()
    assert message in str(caught.value)


def test_examples_in_another_order(rng):
    x, index = rng.normal(size=(3, 2, 4)), np.array([[2.0], [0.0], [2.0]])
    layer = BatchReindex()
    assert layer.out_shape(((2, 4), (1,))) == (2, 4)
    np.testing.assert_array_equal(layer.forward({}, (x, index), RUN), x[[2, 0, 2]])
    _, (gx,) = value_and_gradients(lambda x: ops.sum(layer.forward({}, (x, index), RUN)), x)
    np.testing.assert_array_equal(gx, np.multiply.outer([1, 0, 2], np.ones((2, 4))))
    with pytest.raises(ShapeError, match="BatchReindex takes x and one index for each example"):
        layer.out_shape(((2, 4), (2,)))


def test_examples_in_another_order_have_their_masks():
    """The mask was lost, so that the next layer took padding for steps."""
    build = GraphBuilder(x=(3, 2), index=(1,))
    build.add(BatchReindex(), "x", "index")
    build.add(GlobalPool(), name="mean")
    build.add(Output(units=2))
    conf = build.conf()
    x, index = np.arange(12.0).reshape(2, 3, 2), np.array([[1.0], [0.0]])
    masks = {"x": np.array([[1.0, 0, 0], [1, 1, 0]])}
    params = conf.params_layout.views(initial_params(conf).astype(float))
    found = forward(conf, params, {}, {"x": x, "index": index}, masks=masks, outputs=["mean"])
    np.testing.assert_allclose(found.activations["mean"], [x[1, :2].mean(0), x[0, 0]])
