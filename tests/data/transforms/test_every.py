"""What holds for every transform. A new transform is one more row."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from sparkdl.data import Compose
from sparkdl.data.transforms import Transform, in_training, record_shapes
from sparkdl.errors import ConfigError, ShapeError
from tests.data.transforms.examples import EXAMPLES, RANDOM, SHAPE, TO_FLOAT, images, trained

NAMES = sorted(EXAMPLES)
DTYPES = [np.uint8, np.float32]


def test_every_transform_has_an_example():
    assert set(EXAMPLES) == set(Transform.members) - {"Compose"}  # a sequence of transforms


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_stay_integers_and_nothing_is_written_to(name, dtype):
    batch = images(dtype=dtype)
    before = batch.features.copy()
    for result in (EXAMPLES[name](batch).features, trained(EXAMPLES[name], batch)):
        assert result.dtype == (np.float32 if name in TO_FLOAT else dtype)
        assert result.shape == (20, *EXAMPLES[name].out_shape(SHAPE))
        assert np.isfinite(result).all()
    np.testing.assert_array_equal(batch.features, before)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
def test_wider_integers_are_treated_like_bytes(name, dtype):
    batch = images()
    wide = batch.replace(features=batch.features.astype(dtype))
    for call in (lambda batch: EXAMPLES[name](batch).features, partial(trained, EXAMPLES[name])):
        result = call(wide)
        assert result.dtype == (np.float32 if name in TO_FLOAT else dtype)
        np.testing.assert_array_equal(result, call(batch))


@pytest.mark.parametrize("name", NAMES)
def test_the_other_columns_stay(name):
    batch = images()
    changed = EXAMPLES[name](batch)
    assert changed.labels is batch.labels and changed.ids is batch.ids


@pytest.mark.parametrize("name", NAMES)
def test_chance_is_a_function_of_seed_epoch_and_record(name):
    batch = images()
    transform = pickle.loads(pickle.dumps(EXAMPLES[name]))
    whole = trained(transform, batch)
    order = np.random.default_rng(1).permutation(20)
    np.testing.assert_array_equal(trained(transform, batch.take(order)), whole[order])
    np.testing.assert_array_equal(trained(transform, batch.take(slice(5, 6))), whole[5:6])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", [{"seed": 2}, {"epoch": 4}], ids=str)
def test_another_seed_or_epoch_is_another_chance(name, other):
    batch = images()
    one, two = trained(EXAMPLES[name], batch), trained(EXAMPLES[name], batch, **other)
    assert (one != two).any() == (name in RANDOM)


@pytest.mark.parametrize("name", NAMES)
def test_there_is_no_chance_in_use(name):
    batch = images()
    moved = images().replace(features=batch.features)
    moved.ids[...] += np.uint64(100)
    used = EXAMPLES[name](batch).features
    np.testing.assert_array_equal(EXAMPLES[name](moved).features, used)
    assert (trained(EXAMPLES[name], batch) != used).any() == (name in RANDOM)


@pytest.mark.parametrize("name", NAMES)
def test_shapes_go_both_ways(name):
    transform = EXAMPLES[name]
    out = transform.out_shape(SHAPE)
    records = transform.in_shape(out)
    assert len(records) == len(SHAPE) or name in ("ReshapeRecords", "OneHot")
    if name != "ReshapeRecords":
        assert all(n in (None, size) for n, size in zip(records, SHAPE, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_batch_stays_empty(name):
    batch = images(0)
    for result in (EXAMPLES[name](batch), in_training(EXAMPLES[name], 0, 0)(batch)):
        assert result.features.shape == (0, *EXAMPLES[name].out_shape(SHAPE))


@pytest.mark.parametrize("name", NAMES)
def test_another_column_is_changed_alone(name):
    transform = replace(EXAMPLES[name], column="other")
    batch = images()
    changed = transform(batch.replace(other=batch.features))
    np.testing.assert_array_equal(changed.columns["other"], EXAMPLES[name](batch).features)
    assert changed.features is batch.features
    shapes = {"features": (5,), "other": transform.out_shape(SHAPE)}
    assert record_shapes(transform, shapes)["features"] == (5,)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_that_is_not_there_gets_its_nearest(name):
    transform = replace(EXAMPLES[name], column="feature")
    message = (
        rf"^{name}.column must be one of the batch's columns \['features', 'labels'\], "
        "got 'feature'; did you mean 'features'\\?$"
    )
    for change in (transform, in_training(transform, 1, 2)):
        with pytest.raises(ConfigError, match=message):
            change(images())


REFUSED = [
    (name, shape)
    for name in NAMES
    for shape in [(12,), (4, 3)]
    if name not in ("Scale", "Normalize", "OneHot", "ReshapeRecords")
]


@pytest.mark.parametrize("name, shape", REFUSED)
def test_what_is_no_image_is_refused(name, shape):
    for ask in (EXAMPLES[name].in_shape, EXAMPLES[name].out_shape):
        with pytest.raises(ShapeError, match=f"{name}"):
            ask(shape)


def test_a_plain_function_knows_no_shapes_and_no_epochs():
    def double(batch):
        return batch

    assert in_training(double, 1, 2) is double
    assert record_shapes(double, {"features": (3,)}) == {"features": (3,)}
    assert record_shapes(None, {"features": (3,)}) == {"features": (3,)}
    assert in_training(None, 1, 2) is None


def test_compose_gives_each_its_own_chance():
    """Of two Mirrors, each draws for itself: some images are mirrored exactly once."""
    batch, mirror = images(200), EXAMPLES["Mirror"]
    once, twice = trained(mirror, batch), trained(Compose(mirror, mirror), batch)
    assert (once != batch.features).any(axis=(1, 2, 3)).sum() in range(70, 130)
    assert (twice != batch.features).any(axis=(1, 2, 3)).sum() in range(70, 130)
