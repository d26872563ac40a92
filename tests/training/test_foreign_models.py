"""Objects that are not networks are refused with advice on converting them."""

import pytest

from sparkdl import Network
from sparkdl.errors import ConfigError
from sparkdl.layers import Output
from sparkdl.ml.documents import to_network
from sparkdl.training.foreign_models import cure_for_model
from tests.training.problems import perceptron


def model_of(module):
    """Returns a model whose base class is in `module`, like users' own models."""
    base = type("Base", (), {"__module__": module})
    return type("Own", (base,), {"__module__": "__main__"})()


class Read:
    """An object with a network, as readers return."""

    network = Network(perceptron())


MODELS = {
    "Keras": (model_of("keras.src.models.sequential"), "read_keras(model).network or KerasModel"),
    "Keras in TensorFlow": (model_of("tensorflow.python.keras"), "read_keras(model).network or"),
    "PyTorch": (model_of("torch.nn.modules.linear"), "example_inputs).network or TorchModel"),
    "a network within": (Read(), "give its .network"),
}
CALLS = {"Network": (Network, ConfigError), "a stage": (to_network, TypeError)}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", MODELS)
def test_a_model_of_another_system_is_refused_with_what_reads_it(case, call):
    (model, cure), (make, error) = MODELS[case], CALLS[call]
    with pytest.raises(error) as caught:
        make(model)
    assert cure in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize("value", [[Output(units=2)], None, "net.json", {"layers": []}])
def test_what_has_no_network_has_no_cure(value):
    with pytest.raises(ConfigError) as caught:
        Network(value)
    kind = type(value).__name__
    assert str(caught.value) == f"conf must be a NetworkConf or GraphConf, got {kind}"
    assert cure_for_model(value) == ""
