"""Weights saved by torch, read into our networks, against torch."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, DataError, UnsupportedError
from sparkdl.interop.torch import read_torch
from sparkdl.nn import GraphBuilder, layers
from tests.interop.torch.weights.modules import CASES, drawn, lenet, resnet18, resnet18_conf

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")


def settled(make):
    """Returns a module in eval mode with random running means and variances."""
    torch.manual_seed(3)
    module = make().eval()
    for name, buffer in module.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return module


def predictions(module, x):
    with torch.no_grad():
        return torch.softmax(module(torch.tensor(x)), 1).numpy()


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_those_of_torch(name, tmp_path):
    make, conf, options, shape = CASES[name]
    module, path, x = settled(make), tmp_path / "weights.pt", drawn(shape)
    torch.save(module.state_dict(), path)
    net = read_torch(path, conf, **options)
    np.testing.assert_allclose(net.network.predict(x), predictions(module, x), atol=1e-5)
    assert not net.missing and not net.unused and set(net.pairs) <= {p.name for p in conf.stack}


def test_both_directions_have_their_own(tmp_path):
    torch.manual_seed(3)
    module = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)
    torch.save(module.state_dict(), tmp_path / "weights.pt")
    build = GraphBuilder(x=(6, 3))
    build.add(layers.Bidirectional(layer=layers.LSTM(units=4)), "x", name="both")
    net, x = read_torch(tmp_path / "weights.pt", build.conf()), drawn((6, 3))
    with torch.no_grad():
        theirs = module(torch.tensor(x))[0].numpy()
    np.testing.assert_allclose(net.network.features(x, ["both"])["both"], theirs, atol=1e-5)


def test_resnet18_of_the_zoo(tmp_path):
    module, path, x = settled(resnet18), tmp_path / "weights.pt", drawn((3, 224, 224), 1)
    torch.save(module.state_dict(), path)
    net = read_torch(path, resnet18_conf())
    np.testing.assert_allclose(net.network.predict(x), predictions(module, x), atol=1e-4)
    assert net.pairs["stage4/1/shortcut/norm"] == "layer4.0.downsample.1"


@pytest.mark.parametrize("form", ["parameters", "protocol 4", "key", "half", "views"])
def test_forms_of_files(form, tmp_path):
    make, conf, _, shape = CASES["perceptron"]
    module, path, x, options = settled(make), tmp_path / "weights.pt", drawn(shape), {}
    weights = module.state_dict()
    if form == "parameters":
        weights = dict(module.named_parameters())
    if form == "key":
        weights, options = {"epoch": 3, "rates": [0.1], "model": weights}, {"key": "model"}
    if form == "half":
        module.to(torch.bfloat16)
        weights = module.state_dict()
        module = module.float()
    if form == "views":
        weights = {name: torch.cat([w, w])[len(w) :] for name, w in weights.items()}
        weights |= {name: w.T.contiguous().T for name, w in weights.items() if w.ndim == 2}
    torch.save(weights, path, pickle_protocol=4 if form == "protocol 4" else 2)
    net = read_torch(path, conf, **options)
    np.testing.assert_allclose(net.network.predict(x), predictions(module, x), atol=1e-5)


def test_what_does_not_fit_is_listed(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(settled(lenet).state_dict(), path)
    conf = CASES["perceptron"][1]
    with pytest.raises(DataError) as error:
        read_torch(path, conf)
    for line in ("0 in dense_1/W: shape must be (4, 5), got (6, 1, 5, 5)", "7.weight of the file"):
        assert line in str(error.value)


def test_what_is_left_over_is_reported(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(settled(CASES["perceptron"][0])[:1].state_dict(), path)
    net = read_torch(path, CASES["perceptron"][1], names={"dense_1": "0"}, strict=False)
    assert net.missing == ("output_1/W", "output_1/b") and not net.unused
    assert net.matched == {"dense_1/W": (4, 5), "dense_1/b": (5,)}
    with pytest.raises(DataError, match="output_1/W: no array in the file"):
        read_torch(path, CASES["perceptron"][1])


def test_a_module_is_refused_by_name(tmp_path):
    path, conf = tmp_path / "weights.pt", CASES["perceptron"][1]
    torch.save(settled(CASES["perceptron"][0]), path)
    with pytest.raises(UnsupportedError, match=r"an object of torch\.nn\.modules\."):
        read_torch(path, conf)
    torch.save({"a": 1}, path)
    with pytest.raises(ConfigError, match=r"must hold tensors alone, got \['a'\]"):
        read_torch(path, conf)
