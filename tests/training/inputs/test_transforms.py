"""Transforms from storage to weights: changes of shape, and randomness in training only."""

import numpy as np
import pytest

from sparkdl.data import LMDB, Arrays, Compose, Crop, Mirror, ReshapeRecords, Scale, write_lmdb
from sparkdl.data.batches.batch import Batch
from sparkdl.errors import DataError, ShapeError
from sparkdl.nn import Dense, Flatten, NetworkConf, Output, Sgd
from sparkdl.training.network import Network
from tests.training.problems import averaging

CROP = Compose(Crop(size=(4, 5)), Mirror(), Scale(factor=1 / 255))


def conf():
    layers = [Flatten(), Dense(units=5, activation="tanh"), Output(units=3)]
    return NetworkConf(
        input_shape=(2, 4, 5), layers=layers, seed=3, optimizer=Sgd(learning_rate=0.3)
    )


def images(shape=(2, 7, 8), n=30):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (n, *shape), dtype=np.uint8), rng.integers(0, 3, n)


def fitted(source, crew, **options):
    network = Network(conf())
    network.fit(source, epochs=2, master=averaging(**options), workers=crew)
    return network


@pytest.mark.slow
def test_an_lmdb_of_larger_images_is_cropped(crews, tmp_path):
    x, y = images()
    path = str(tmp_path / "lmdb")
    write_lmdb(path, [Batch.of(x, y)])
    stored = LMDB(path, transforms=[Crop(size=(4, 5)), Mirror()], scale=1 / 255)
    one = fitted(stored, crews(2))
    other = fitted(Arrays(x, y, transform=CROP), crews(2))
    np.testing.assert_array_equal(one.state.params, other.state.params)
    center = Arrays(x[:, :, 1:5, 1:6] / np.float32(255), y)
    assert one.evaluate(stored).loss == pytest.approx(one.evaluate(center).loss, rel=1e-5)


def test_chance_does_not_depend_on_minibatches_or_prefetch(crews):
    """With all data in each minibatch, any order of records gives the same gradient."""
    x, y = images()
    source = Arrays(x, y, transform=CROP)
    one, two = (fitted(source, crews(1), batch_size_per_worker=30, prefetch=n) for n in (0, 2))
    np.testing.assert_array_equal(one.state.params, two.state.params)
    still = Arrays(x, y, transform=Compose(Crop(size=(4, 5), random=False), Scale(factor=1 / 255)))
    unlike = fitted(still, crews(1), batch_size_per_worker=30)
    assert (unlike.state.params != one.state.params).any()


def test_rows_are_given_their_shape(crews):
    x, y = images()
    rows = Arrays(x.reshape(30, -1), y, transform=Compose(ReshapeRecords(shape=(2, 7, 8)), CROP))
    images_ = Arrays(x, y, transform=Compose(ReshapeRecords(shape=(2, 7, 8)), CROP))
    params = [fitted(source, crews(1)).state.params for source in (rows, images_)]
    np.testing.assert_array_equal(*params)


def test_rows_without_a_shape_are_refused(crews):
    x, y = images()
    with pytest.raises(DataError, match=r"must have the shape \(2, any, any\), got \(112,\); Resh"):
        fitted(Arrays(x.reshape(30, -1), y, transform=CROP), crews(1))


def test_what_the_network_does_not_take_is_refused_before_reading(crews):
    x, y = images()
    with pytest.raises(
        ShapeError, match=r"Crop gives examples of \(2, 6, 6\), but what follows takes"
    ):
        fitted(Arrays(x, y, transform=Crop(size=6)), crews(1))


def test_images_that_are_too_small_are_refused(crews):
    x, y = images((2, 3, 8))
    with pytest.raises(ShapeError, match=r"Crop of \(4, 5\) needs images of at least that"):
        fitted(Arrays(x, y, transform=CROP), crews(1))


def test_a_batch_is_transformed_as_in_use():
    x, y = images()
    network = Network(conf())
    source = Arrays.of(Batch.of(x, y), transform=CROP)
    first, again = network.evaluate(source).loss, network.evaluate(source).loss
    assert first == again
