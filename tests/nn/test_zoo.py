"""The zoo's networks: published parameter counts, and well-known shapes."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import Conv2D, zoo
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.networks.document import conf_from_dict
from tests.nn.networks.test_graph import batch_of

PUBLISHED = {
    "lenet": 431_080,
    "cifar10_quick": 145_578,
    "cifar10_full": 89_578,
    "alexnet": 60_965_224,
    "caffenet": 60_965_224,
    "googlenet": 13_378_280,
    "vgg16": 138_357_544,
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "inception_v3": 23_834_568,
    "gpt2": 163_037_184,  # 124,439,808, plus an untied head of 50,257 x 768
    "bert": 109_480_704,  # 109,482,240 less two segment rows, which are an option
    "char_lstm": 871_745,  # counted below
    "transformer": 3_225_665,  # not published; test_transformer.py counts them
    "dlrm": 475_985,  # these four, without their tables; test_zoo_tables.py counts them
    "factorization_machine": 1,
    "deep_fm": 328_002,
    "wide_deep": 722_946,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_has_as_many_parameters_as_published(name):
    conf = getattr(zoo, name)()
    assert conf.parameter_count == PUBLISHED[name]
    assert conf_from_dict(conf.to_dict()) == conf


def test_every_network_is_counted():
    assert set(zoo.__all__) == set(PUBLISHED)


def test_bert_of_two_segments_and_the_names_of_its_heads():
    assert zoo.bert(segments=2).parameter_count == 109_482_240
    small = {"tokens": 9, "steps": 4, "width": 4, "depth": 1, "heads": 2, "classes": 3}
    assert zoo.bert(**small, pooling="mean").stack[-1].out_shape == (3,)
    assert zoo.bert(**small, pooling=None).stack[-1].out_shape == (4, 3)
    assert zoo.gpt2(**small).stack[-1].out_shape == (3,)
    with pytest.raises(ConfigError, match=r"bert\.pooling must be one of"):
        zoo.bert(pooling="last")


def test_googlenet_without_its_auxiliary_outputs():
    assert zoo.googlenet(auxiliary=False).parameter_count == 6_998_552


def test_char_lstm_by_hand():
    gates, n = 4 * 256, 65
    one = n * gates + 256 * gates + gates
    two = 256 * gates + 256 * gates + gates
    assert zoo.char_lstm(n).parameter_count == one + two + 256 * n + n


# the shape before global pooling or the first dense layer, from the papers
LAST = {
    "alexnet": ("maxpool2d_3", (256, 6, 6)),
    "vgg16": ("maxpool2d_5", (512, 7, 7)),
    "googlenet": ("5b", (1024, 7, 7)),
    "resnet50": ("stage4/3/relu", (2048, 7, 7)),
    "inception_v3": ("e2", (2048, 8, 8)),
    "cifar10_quick": ("avgpool2d_2", (64, 4, 4)),
}


@pytest.mark.parametrize("name", LAST)
def test_the_last_images_have_the_size_of_the_paper(name):
    layer, shape = LAST[name]
    conf = getattr(zoo, name)()
    assert {place.name: place.out_shape for place in conf.stack}[layer] == shape


def test_resnet50_has_53_convolutions():
    assert sum(isinstance(layer, Conv2D) for layer in zoo.resnet50().layers) == 53


@pytest.mark.parametrize("name", ["lenet", "cifar10_quick", "cifar10_full"])
def test_a_small_network_learns_a_batch_by_heart(name, rng):
    conf = getattr(zoo, name)(initializer="he", seed=1)
    replica, batch = Replica(conf), batch_of(conf, rng, 8)
    losses = [replica.step(batch, 0.01, t) for t in range(1, 6)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
