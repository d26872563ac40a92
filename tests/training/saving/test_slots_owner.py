"""The optimizers that a state's slots belong to."""

from dataclasses import replace

import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import (
    AdaGrad,
    Adam,
    Dense,
    EmbeddingBag,
    GraphBuilder,
    Momentum,
    NetworkConf,
    Output,
    Sgd,
)
from sparkdl.training.network import Network, first_state
from sparkdl.training.saving.model_directory import load_model, save_model
from sparkdl.training.saving.slots_owner import slots_owner
from tests.support.tables import for_all

LAYERS = (Dense(units=2), Output(units=3))
CONF = NetworkConf(input_shape=(4,), layers=LAYERS, optimizer=Momentum(learning_rate=0.1))


def changed(**options):
    return replace(CONF, **options)


def state_of_sgd():
    return replace(first_state(changed(optimizer="sgd")), slots_owner="")


def with_own(optimizer):
    """Returns the first layer with an optimizer of its own."""
    return replace(LAYERS[0], optimizer=optimizer(learning_rate=0.2))


def averaging(layer):
    return replace(layer, optimizer=Sgd(ema_decay=0.9))


FOREIGN = {  # a network, a state of another one, the error
    "as many slots": (
        changed(optimizer=AdaGrad(learning_rate=0.1)),
        first_state(CONF),
        "slots of AdaGrad for 19 numbers, got slots of Momentum for 19 numbers; replace_optimizer",
    ),
    "in another order": (
        changed(layers=(with_own(Adam), LAYERS[1]), optimizer="adam"),
        first_state(changed(optimizer="adam")),
        "slots of Adam for 10 numbers, Adam for 9 numbers, got slots of Adam for 19 numbers",
    ),
    "with an average": (
        changed(optimizer=Momentum(learning_rate=0.1, ema_decay=0.9)),
        first_state(CONF),
        "slots of Momentum with an average for 19 numbers, got slots of Momentum for 19 numbers",
    ),
    "another layer's average": (
        changed(optimizer="sgd", layers=(LAYERS[0], averaging(LAYERS[1]))),
        first_state(changed(optimizer="sgd", layers=(averaging(LAYERS[0]), LAYERS[1]))),
        "slots of Sgd for 10 numbers, Sgd with an average for 9 numbers, got slots of Sgd with",
    ),
    "fewer slots": (CONF, state_of_sgd(), "19 numbers in slots, .* got 0; replace_optimizer"),
    "of fewer layers": (
        changed(layers=LAYERS[1:]),
        first_state(CONF),
        "must be of this conf, with 15 numbers in params, got 19; replace_output",
    ),
}


def test_foreign_states_are_refused():
    def check(name):
        conf, state, words = FOREIGN[name]
        with pytest.raises(ConfigError, match=words):
            Network(conf, state)

    for_all(FOREIGN, check)


def test_options_of_the_same_optimizer_may_change():
    conf = changed(optimizer=Momentum(learning_rate=0.5, momentum=0.5), l2=0.1)
    assert Network(conf, first_state(CONF)).state.slots.size == 19


@pytest.mark.parametrize("kind", [Momentum, Sgd])
def test_a_layer_may_get_a_rate_of_its_own(kind):
    """Each parameter's slots stay in place."""
    one = changed(optimizer=kind(learning_rate=0.1))
    other = replace(one, layers=(with_own(kind), LAYERS[1]))
    assert len(other.groups) == 2
    for before, after in ((one, other), (other, one)):
        state = first_state(before)
        assert Network(after, state).state.slots is state.slots


def test_a_saved_state_says_what_its_slots_are_of(tmp_path):
    save_model(tmp_path / "model", CONF, replace(first_state(CONF), slots_owner=""))
    _, state, _ = load_model(tmp_path / "model")
    assert state.slots_owner == slots_owner(CONF) == "Momentum for 19 numbers"


def test_tables_have_optimizers_too():
    build = GraphBuilder()
    build.add(Output(units=2), "user")
    bag = EmbeddingBag(name="user", dimension=3, optimizer="ada_grad")
    conf = build.conf(bags=[bag], optimizer=Momentum(learning_rate=0.1))
    assert slots_owner(conf) == "Momentum for 8 numbers, AdaGrad for table user"
