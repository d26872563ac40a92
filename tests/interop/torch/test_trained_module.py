"""Trained modules are returned with their weights."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.torch import trained_module
from sparkdl.nn import Momentum, NetworkConf, Output
from sparkdl.training.network import Network
from tests.interop.torch.modules import lenet, model, whole_lenet

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")


def test_it_predicts_what_the_network_does(rng, tmp_path):
    """Its state_dict is loaded into a new module."""
    optimizer = Momentum(learning_rate=0.05)
    network = Network(model("lenet", whole_lenet, optimizer=optimizer))
    x = rng.normal(size=(60, 1, 8, 8)).astype(np.float32)
    network.fit((x, np.arange(60) % 3), epochs=2)
    torch.save(trained_module(network).state_dict(), tmp_path / "weights.pt")
    module = lenet(norm=True)
    module.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    with torch.no_grad():
        found = torch.softmax(module.eval()(torch.tensor(x)), 1).numpy()
    np.testing.assert_allclose(found, network.predict(x), atol=1e-6)


def test_it_shares_no_memory_with_the_network(rng):
    network = Network(model("lenet"))
    before = network.state.params.copy()
    with torch.no_grad():
        for parameter in trained_module(network).parameters():
            parameter.fill_(7)
    np.testing.assert_array_equal(network.state.params, before)


PLAIN = NetworkConf(input_shape=(2,), layers=[Output(units=2)])


@pytest.mark.parametrize("given", [3, Network(PLAIN)], ids=["a number", "our own"])
def test_what_has_no_module_is_refused(given):
    with pytest.raises(ConfigError, match="must be a Network of a TorchModel"):
        trained_module(given)
