"""Modules as networks: their configuration, predictions, and refused modules."""

import pickle
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.engine import ops
from sparkdl.errors import CheckpointError, ConfigError, ShapeError
from sparkdl.interop.torch import TorchModel
from sparkdl.nn import conf_from_json
from sparkdl.nn.losses.base import Loss
from sparkdl.training.network import Network
from tests.interop.torch.modules import MODULES, lenet, linear, model, transformer, whole_lenet

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
nn = torch.nn


def test_its_arrays_are_those_of_the_module():
    conf, module = model("transformer"), transformer()
    assert dict(conf.parameters) == {
        n: tuple(p.shape) for n, p in module.named_parameters() if p.requires_grad
    }
    assert dict(conf.buffers) == {"frozen": (8,)}
    assert conf.output_shape == (3,) and conf.parameter_count == sum(
        p.numel() for p in module.parameters() if p.requires_grad
    )
    assert "torch.nn.Module" in conf.summary()


@pytest.mark.parametrize("name", MODULES)
def test_predictions_are_those_of_the_module(name, rng):
    conf = model(name)
    torch.manual_seed(conf.seed)
    module = conf.make().eval()
    shape = (37, *conf.input_shape)
    x = rng.integers(0, 5, shape) if conf.input_type == "int64" else rng.normal(size=shape)
    with torch.no_grad():
        logits = module(torch.tensor(x.astype(conf.input_type)))
    network = Network(conf)
    expected = torch.softmax(logits, 1).numpy()
    np.testing.assert_allclose(network.predict(x.astype(np.float32)), expected, atol=1e-6)
    given = network.features(x.astype(np.float32), ["module"])["module"]
    np.testing.assert_allclose(given, logits.numpy(), atol=1e-6)
    labels = rng.integers(0, 3, 37)
    loss = nn.functional.cross_entropy(logits, torch.tensor(labels)).item()
    result = network.evaluate((x.astype(np.float32), labels))
    assert result.loss == pytest.approx(loss, rel=1e-5)
    assert result.accuracy == np.mean(expected.argmax(1) == labels)


def test_a_saved_model_predicts_the_same(tmp_path, rng):
    network, x = Network(model("lenet", whole_lenet)), rng.normal(size=(5, 1, 8, 8))
    x = x.astype(np.float32)
    network.fit((x, np.arange(5) % 3), epochs=1)
    network.save(tmp_path / "model")
    again = Network.load(tmp_path / "model")
    assert again.conf == network.conf
    np.testing.assert_array_equal(again.predict(x), network.predict(x))


ELSEWHERE = """
import sys
from sparkdl import Network
network = Network.load(sys.argv[1])
assert "torch" not in sys.modules
try:
    network.replica
except Exception as error:
    print(type(error).__name__, error)
"""


def test_another_process_is_told_to_give_the_function_first(tmp_path):
    """Loading a document does not import or run anything that it names."""
    Network(model("lenet")).save(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, tmp_path / "model"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(
        "ConfigError TorchModel.make must be a function that this process"
    )
    assert "tests.interop.torch.modules:lenet" in done.stdout


def test_a_function_of_the_same_name_is_another_model():
    def make():
        return nn.Linear(4, 3)

    one = TorchModel(make=make, input_shape=(4,))

    def make():
        return nn.Linear(4, 3, bias=False)

    two = TorchModel(make=make, input_shape=(4,))
    assert one != two
    assert two == conf_from_json(two.to_json()), "the later one has the name"


F = nn.functional
HEADS = {  # (loss, output_activation): torch's (loss of logits, predictions)
    ("mse", "identity"): (F.mse_loss, lambda z: z),
    ("mse", "sigmoid"): (lambda z, y: F.mse_loss(z.sigmoid(), y), torch.sigmoid),
    ("mae", "softmax"): (lambda z, y: F.l1_loss(z.softmax(1), y), lambda z: z.softmax(1)),
    ("softmax_cross_entropy", "softmax"): (F.cross_entropy, lambda z: z.softmax(1)),
    ("sigmoid_cross_entropy", "sigmoid"): (
        lambda z, y: 3 * F.binary_cross_entropy_with_logits(z, y),
        torch.sigmoid,
    ),
    ("multinomial_logistic", "softmax"): (
        lambda z, y: F.nll_loss(z.softmax(1).log(), y),
        lambda z: z.softmax(1),
    ),
}


@pytest.mark.parametrize("loss, activation", HEADS)
def test_predictions_and_losses_are_those_of_the_output_activation(loss, activation, rng):
    conf = linear(loss=loss, output_activation=activation)
    torch.manual_seed(conf.seed)
    module, (loss_of, predictions) = conf.make(), HEADS[loss, activation]
    x = rng.normal(size=(6, 4)).astype(np.float32)
    classes = conf.loss.label_kind == "class"
    y = rng.integers(0, 3, 6) if classes else rng.random((6, 3)).astype(np.float32)
    logits = module(torch.tensor(x))
    expected = loss_of(logits, torch.tensor(y))
    expected.backward()
    again = Network(conf_from_json(conf.to_json()))
    np.testing.assert_allclose(again.predict(x), predictions(logits).detach(), atol=1e-6)
    batch = Batch.of(x, y)
    assert again.evaluate(batch).loss == pytest.approx(expected.item(), rel=1e-5)
    named = again.evaluate(batch, output="output")
    assert named.figures() == pytest.approx(again.evaluate(batch).figures(), nan_ok=True)
    again.replica.gradient(batch)
    slopes = torch.cat([p.grad.ravel() for p in module.parameters()])
    np.testing.assert_allclose(again.replica.grad, slopes, atol=1e-6)


class PowerLoss(Loss, abstract=True):
    """The loss of the guide."""

    label_kind = "class"

    def output(self, z):
        return ops.softmax(z)

    def per_example(self, z, labels):
        p = ops.exp(ops.neg(ops.softmax_cross_entropy(z, labels)))
        return ops.mul(ops.sub(1.0, ops.power(p, 0.7)), 1 / 0.7)


def test_a_loss_of_the_users_is_that_of_torch(rng):
    x, y = rng.normal(size=(6, 4)).astype(np.float32), rng.integers(0, 3, 6)
    conf = linear(loss=PowerLoss())
    torch.manual_seed(conf.seed)
    module, network = conf.make(), Network(conf)
    p = module(torch.tensor(x)).softmax(1)[torch.arange(6), torch.tensor(y)]
    expected = ((1 - p**0.7) / 0.7).mean()
    expected.backward()
    network.replica.gradient(Batch.of(x, y))
    slopes = torch.cat([p.grad.ravel() for p in module.parameters()])
    np.testing.assert_allclose(network.replica.grad, slopes, atol=1e-6)
    assert network.evaluate(Batch.of(x, y)).loss == pytest.approx(expected.item(), rel=1e-5)


OWN_LOSSES = {
    "a function": (lambda y, t: (y - t).abs().mean(), r"; write your own as a subclass of .*Loss"),
    "torch's": (nn.CrossEntropyLoss(label_smoothing=0.1), "did you mean 'softmax_cross_entropy'?"),
    "torch's function": (nn.functional.mse_loss, "did you mean 'mse'?"),
}


@pytest.mark.parametrize("name", OWN_LOSSES)
def test_a_loss_in_torch_is_refused_with_the_cure(name):
    loss, cure = OWN_LOSSES[name]
    with pytest.raises(ConfigError, match=rf"TorchModel.loss must be one of .*{cure}"):
        linear(loss=loss)


def test_the_regression_of_the_guide(rng):
    """One unit, and labels of shape (n,)."""
    options = {"loss": "mse", "output_activation": "identity"}
    network = Network(linear(make=lambda: nn.Linear(4, 1), **options))
    x = rng.normal(size=(40, 4)).astype(np.float32)
    network.fit_full_batch((x, x @ np.array([1, -2, 0.5, 0], np.float32) + 3))
    np.testing.assert_allclose(network.state.params, [1, -2, 0.5, 0, 3], atol=1e-3)


class Unreached(nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.other = nn.Linear(4, 3), nn.LazyLinear(2)

    def forward(self, x):
        return self.out(x)


class Growing(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)
        self.register_buffer("last", torch.zeros(1, 4))

    def forward(self, x):
        self.last = x
        return super().forward(x)


class Named(nn.Linear):
    """Returns its outputs by name, perhaps only in training or only for predictions."""

    def __init__(self, trains=False, predicts=False):
        super().__init__(4, 3)
        self.modes = {True: trains, False: predicts}

    def forward(self, x):
        y = super().forward(x)
        return {"hidden": x, "logits": y} if self.modes[self.training] else y


class Viewed(nn.Conv2d):
    def __init__(self):
        super().__init__(2, 4, 2)

    def forward(self, x):
        return super().forward(x).view(len(x), -1)


REFUSED = {
    "no function": ({"make": 3}, ConfigError, "must be a function without arguments"),
    "no module": ({"make": lambda: 3}, ConfigError, "must return a torch.nn.Module, got 3"),
    "doubles": ({"make": lambda: nn.Linear(4, 3).double()}, ConfigError, "float32 on the CPU"),
    "other input": ({"input_shape": (5,)}, ShapeError, r"takes \(5,\) of float32, got .*[^'\"]$"),
    "ids as floats": (
        {"make": transformer, "input_shape": (6,)},
        ShapeError,
        r"takes \(6,\) of float32, got .*; ids, as of an Embedding, need input_type='int64'$",
    ),
    "floats as ids": ({"input_type": "int64"}, ShapeError, "; it takes input_type='float32'$"),
    "two outputs": (
        {"make": lambda: nn.LSTM(4, 3)},
        ShapeError,
        r"one float32 output .*, got a tuple of 2 for a batch of 2; return one of them .* \[0\]$",
    ),
    "outputs by name": (
        {"make": lambda: Named(trains=True, predicts=True)},
        ShapeError,
        r"got a dict with the keys \['hidden', 'logits'\] for .*; return one .* \['logits'\]$",
    ),
    "no batch axis": (
        {"make": lambda: nn.Sequential(nn.Flatten(0), nn.Linear(8, 3))},
        ShapeError,
        "one float32 output",
    ),
    "count of batches": (
        {"make": lambda: nn.BatchNorm1d(4, momentum=None)},
        ConfigError,
        "must give BatchNorm a momentum",
    ),
    "channels of no image": ({"channels_last": True}, ConfigError, "unless examples are"),
    "view of channels last": (
        {"make": lambda: Viewed(), "input_shape": (2, 3, 3), "channels_last": True},
        ShapeError,
        "write reshape for view",
    ),
    "lazy but not reached": ({"make": lambda: Unreached()}, ConfigError, "got other.* without a"),
    "buffer that grows": ({"make": lambda: Growing()}, ConfigError, "keep their shapes, got last"),
    "two activations": (
        {"loss": "softmax_cross_entropy", "output_activation": "sigmoid"},
        ConfigError,
        "TorchModel.output_activation must be None",
    ),
    "narrow": ({"dtype": "bfloat16"}, ConfigError, "dtype must be float32"),
    "steps": ({"tbptt": (2, 2)}, ConfigError, "tbptt None"),
    "shapes": ({"parameters": [["a", [-1]]]}, ConfigError, "must be pairs \\(name, shape\\)"),
    "twice": ({"buffers": [["a", [1]], ["a", [1]]]}, ConfigError, "each name once"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_trained_is_refused(name):
    options, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        linear(**options)


def test_what_cannot_be_sent_is_refused_by_name():
    lock = threading.Lock()

    def make():
        assert lock
        return nn.Linear(4, 3)

    with pytest.raises(ConfigError, match="can be sent to executors, got .*make"):
        TorchModel(make=make, input_shape=(4,))


def test_what_a_function_reads_is_as_it_was_when_it_was_given():
    """In a notebook, a global may change between two models, which must then differ."""
    names = {"__name__": "__main__", "FILL": 1.0}
    exec(SURROUNDINGS, names)
    one = TorchModel(make=names["make"], input_shape=(2,), loss="mse")
    names["FILL"] = 2.0
    two = TorchModel(make=names["make"], input_shape=(2,), loss="mse")
    assert one != two
    for conf, value in ((one, 1.0), (two, 2.0)):
        assert (Network(conf).state.params[:2] == value).all()
        again = pickle.loads(pickle.dumps(conf))
        assert again == conf and (Network(again).state.params[:2] == value).all()


SURROUNDINGS = """
import torch

def make():
    module = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(module.weight, FILL)
    return module
"""


def test_a_damaged_document_is_a_named_error(tmp_path):
    Network(model("lenet")).save(tmp_path / "model")
    document = model("lenet").to_json().replace('"input_shape"', '"shape"')
    with pytest.raises(ConfigError, match="has no field 'shape'"):
        conf_from_json(document)
    (tmp_path / "model" / "network.json").write_text(document)
    with pytest.raises(CheckpointError):
        Network.load(tmp_path / "model")


def test_its_name_is_that_of_the_function():
    assert model("lenet").make.reference == f"{lenet.__module__}:lenet"


def test_outputs_by_name_in_training_are_refused_with_the_cure(rng):
    conf = TorchModel(make=partial(Named, trains=True), input_shape=(4,), loss="mse")
    x, y = (rng.normal(size=(6, n)).astype(np.float32) for n in (4, 3))
    replica = Network(conf).replica
    message = r"got a dict with the keys \['hidden', 'logits'\] in training; return one of them"
    with pytest.raises(ShapeError, match=message):
        replica.step(Batch.of(x, y), 0.1, 1)
    assert replica.losses(Batch.of(x, y))[0].shape == (6, 3)
