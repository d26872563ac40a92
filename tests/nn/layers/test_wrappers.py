"""Wrappers: properties inherited from the inner layer, and the masks and losses they pass on."""

import numpy as np
import pytest

from sparkdl.nn import NetworkConf, forward, initial_params
from sparkdl.nn.layers import (
    LSTM,
    Activation,
    AddedLoss,
    AutoEncoder,
    Dropout,
    EmbeddingSequence,
    Flatten,
    Frozen,
    GlobalPool,
    Masking,
    MaxPool3D,
    Output,
    Permute,
    Reconstruction,
    Reduce,
    Rescaling,
    Reshape,
    Subset,
    TimeDistributed,
    UpSampling2D,
    ZeroPadding3D,
)
from sparkdl.nn.layers.core.run import Run

FLAGS = "adds_loss", "has_joint_loss", "sums_batch"
IDS = np.array([[[1, 2, 0], [3, 0, 0], [0, 0, 0]], [[2, 0, 0], [1, 3, 2], [4, 4, 0]]])
SENTENCES = np.array([[1.0, 1, 1], [1, 1, 0]])


@pytest.mark.parametrize("wrapper", [Frozen, TimeDistributed])
@pytest.mark.parametrize("mean", [True, False])
def test_a_wrapper_adds_to_the_loss_as_the_layer_inside_does(wrapper, mean):
    inside = AddedLoss(mean=mean)
    found = [getattr(wrapper(layer=inside), name) for name in FLAGS]
    assert found == [getattr(inside, name) for name in FLAGS] == [True, not mean, not mean]


def documents(ids, *between, pool=None):
    """Returns a forward function for documents of sentences, each the mean of its words, and W."""
    words = EmbeddingSequence(vocabulary_size=5, units=2, padding_id=0)
    stack = [TimeDistributed(layer=words), *between]
    stack += [TimeDistributed(layer=pool or GlobalPool(), name="sentences"), GlobalPool(name="all")]
    conf = NetworkConf(input_shape=ids.shape[1:], layers=[*stack, Output(units=2)])
    params = conf.params_layout.views(initial_params(conf).astype(float))

    def run(masks=None):
        names, masks = ["sentences", "all"], {"features": masks}
        return forward(conf, params, {}, ids.astype(float), masks=masks, outputs=names)

    return run, params["timedistributed_1/W"]


def mean_of_words(ids, table):
    """Returns the (N, T, units) means, zeros for a sentence without words."""
    there = (ids > 0)[..., None]
    return (table[ids] * there).sum(2) / np.maximum(there.sum(2), 1)


BETWEEN = {
    "nothing": [],
    "a layer for all": [Dropout(rate=0.5)],
    "a frozen one": [Frozen(layer=TimeDistributed(layer=Dropout(rate=0.5)))],
    "axes that stay": [Permute(order=(0, 1, 2)), Reshape(shape=(3, 3, 2))],
}


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("sentences", [None, SENTENCES], ids=["words", "sentences too"])
def test_padding_words_and_sentences_without_words_do_not_count(between, sentences):
    run, table = documents(IDS, *BETWEEN[between])
    found = run(sentences)
    there = (IDS > 0).any(2) * (1 if sentences is None else sentences)
    means = mean_of_words(IDS, table)
    seen = there > 0
    np.testing.assert_allclose(found.activations["sentences"][seen], means[seen], rtol=1e-12)
    expected = (means * there[..., None]).sum(1) / there.sum(1)[:, None]
    np.testing.assert_allclose(found.activations["all"], expected, rtol=1e-12)
    np.testing.assert_array_equal(found.masks["sentences"], there)


def test_words_that_are_taken_out_of_sentences_keep_their_mask():
    run, table = documents(IDS, Subset(axis=1, start=0, stop=2))
    found = run().activations["sentences"]
    np.testing.assert_allclose(found, mean_of_words(IDS[..., :2], table), rtol=1e-12)


def test_sentences_whose_words_stand_in_one_row_are_there_where_a_word_is():
    run = documents(IDS, Reshape(shape=(3, 6)), pool=AddedLoss())[0]
    np.testing.assert_array_equal(run().masks["sentences"], (IDS > 0).any(2))


VIDEO = {
    "nothing": [],
    "an activation": [Activation(function="tanh")],
    "dropout": [Dropout(rate=0.5)],
    "a frozen layer": [Frozen(layer=Rescaling(scale=2.0))],
    "a border": [ZeroPadding3D(amount=((0, 0), (1, 1), (0, 0)))],
    "pooling": [MaxPool3D(size=(1, 2, 1))],
    "a slice": [Subset(axis=1, start=1, stop=2)],
    "a sum of images": [Reduce(axis=3)],
}


@pytest.mark.parametrize("between", VIDEO)
def test_padding_after_images_does_not_count_behind_layers_over_all_steps(between, rng):
    """Layers over (T, C, H, W) dropped the mask, so that the LSTM took padding for steps."""

    def predictions(x, steps, mask=None):
        images = [Reshape(shape=(steps, 2, 2, 2)), TimeDistributed(layer=Flatten())]
        stack = [images[0], *VIDEO[between], images[1], LSTM(units=3, return_sequences=False)]
        conf = NetworkConf(input_shape=(steps, 8), layers=[*stack, Output(units=2)], seed=1)
        params = conf.params_layout.views(initial_params(conf).astype(float))
        return forward(conf, params, {}, x, masks={"features": mask}).logits

    x, mask = rng.normal(size=(2, 4, 8)), np.array([[1.0, 1, 1, 0], [1, 1, 1, 0]])
    np.testing.assert_allclose(predictions(x, 4, mask), predictions(x[:, :3], 3), rtol=1e-12)


GONE = {
    "sums": (Reduce(axis=2), (4, 3, 2)),
    "twice as many inner steps": (UpSampling2D(size=2), (4, 3, 2)),
    "inner steps in one row": (Reshape(shape=(4, 6)), (4, 3, 2)),
    "inner steps of one number in one row": (Reshape(shape=(4, 3)), (4, 3, 1)),
}


@pytest.mark.parametrize("row", GONE)
def test_where_inner_steps_are_gone_a_step_is_there_if_one_in_it_was(row):
    """The whole mask was lost: an LSTM behind took padding for steps."""
    layer, in_shape = GONE[row]
    mask = np.zeros((1, 4, 3))
    mask[0, 0], mask[0, 2, 1] = 1, 1
    np.testing.assert_array_equal(layer.out_mask(mask, in_shape), [[1, 0, 1, 0]])


def test_masking_at_each_step_hides_the_steps_within(rng):
    x = rng.normal(size=(2, 3, 4, 2))
    x[0, 1, 2:] = 0
    stack = [TimeDistributed(layer=Masking()), TimeDistributed(layer=GlobalPool(), name="means")]
    conf = NetworkConf(input_shape=x.shape[1:], layers=[*stack, Output(units=2)])
    params = conf.params_layout.views(initial_params(conf).astype(float))
    expected = x.mean(2)
    expected[0, 1] *= 2
    found = forward(conf, params, {}, x, outputs=["means"]).activations["means"]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_losses_of_steps_within_steps_come_back_as_those_of_examples(rng):
    x, run = rng.normal(size=(2, 3, 4, 5)), Run(training=True, seed=0)
    layer = TimeDistributed(layer=TimeDistributed(layer=AddedLoss(mean=True)))
    layer.forward({}, x, run)
    np.testing.assert_allclose(run.results.losses[0], x.sum((1, 2, 3)))


def test_the_reconstruction_of_padding_does_not_count(rng):
    inside = AutoEncoder(units=3, corruption=0.0, loss="mse", activation="tanh")
    layer = TimeDistributed(layer=Reconstruction(layer=inside))
    params = {name: rng.normal(size=shape) for name, shape in layer.param_shapes((3, 4)).items()}
    x = np.where(SENTENCES[..., None] > 0, rng.normal(size=(2, 3, 4)), np.nan)
    run = Run(training=True, seed=0, masks=(SENTENCES,), ids=np.arange(2, dtype=np.uint64))
    layer.forward(params, x, run)
    codes = np.tanh(x @ params["W"] + params["b"])
    again = codes @ params["W"].T + params["visible_b"]
    expected = np.nansum(((again - x) ** 2).mean(2), axis=1)
    np.testing.assert_allclose(run.results.losses[0], expected)
