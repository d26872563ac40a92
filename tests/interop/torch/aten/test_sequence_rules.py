"""Biases of recurrent layers, against torch, which trains two of them."""

from dataclasses import replace

import numpy as np
import pytest

from sparkdl import Adam, Batch, Bidirectional, Network, Sgd
from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch import read_module
from tests.interop.torch.weights.modules import sequences

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
# torch.export itself warns about LSTMs, which hold their weights in two places.
pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes:UserWarning")
OPTIMIZERS = {
    "sgd": (Sgd(), torch.optim.SGD, 0.5),
    "adam": (Adam(), torch.optim.Adam, 0.02),
}
WAYS = {"b": "", "forward_b": "", "backward_b": "_reverse"}


def drawn(count, seed):
    return torch.randn((count, 6, 3), generator=torch.Generator().manual_seed(seed))


def read(module, **options):
    return read_module(module, (drawn(2, 0),), loss="softmax_cross_entropy", **options).network


def with_factor(network):
    """Returns the network with a doubled learning rate of the recurrent layer's bias."""

    def doubled(layer):
        if isinstance(layer, Bidirectional):
            return replace(layer, layer=doubled(layer.layer))
        return replace(layer, bias_rate_factor=2.0)

    vertices = [
        replace(vertex, layer=doubled(vertex.layer)) if vertex.name == "rnn" else vertex
        for vertex in network.conf.vertices
    ]
    return Network(replace(network.conf, vertices=vertices), network.state)


@pytest.mark.parametrize(
    "kind, words",
    [
        ("LSTM", "reading the last cells of an LSTM is not supported"),
        ("GRU", "an output that is the last states of all layers; take those of one"),
    ],
)
def test_states_that_are_no_output_are_named(kind, words):
    with pytest.raises(UnsupportedError, match=words):
        read_module(getattr(torch.nn, kind)(3, 4, batch_first=True), (drawn(2, 0),))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(
    "kind, options", [("LSTM", {}), ("LSTM", {"bidirectional": True}), ("RNN", {})]
)
def test_a_bias_moves_as_the_two_of_torch_by_a_factor(kind, options, optimizer):
    torch.manual_seed(3)
    module, labels = sequences(kind, **options)(), torch.tensor([0, 2, 1, 1])
    ours, theirs, rate = OPTIMIZERS[optimizer]
    network, steps = with_factor(read(module, optimizer=ours)), theirs(module.parameters(), lr=rate)
    x, replica = drawn(4, 1), network._load()
    columns = {"features": x.numpy(), "labels": labels.numpy()}
    batch = Batch(columns=columns, ids=np.arange(4, dtype=np.uint64))
    for t in range(1, 6):
        loss = torch.nn.functional.cross_entropy(module(x), labels)
        assert replica.step(batch, rate, t) == pytest.approx(4 * loss.item(), rel=1e-4)
        steps.zero_grad()
        loss.backward()
        steps.step()
    found = {n: array for n, array in replica.arrays()[0].items() if n.startswith("rnn/")}
    for name, way in WAYS.items():
        if f"rnn/{name}" in found:
            two = (getattr(module.rnn, f"bias_{part}_l0{way}") for part in ("ih", "hh"))
            total = sum(bias.detach().numpy() for bias in two)
            np.testing.assert_allclose(found[f"rnn/{name}"], total, atol=2e-5)


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "RNN", "GRU"])
def test_a_warning_says_that_biases_move_half_as_far(kind, trained, caplog):
    module = sequences(kind)()
    module.rnn.requires_grad_(trained)
    [place, *_] = read(module).conf.stack
    assert ("rnn: one bias replaces the two of torch" in caplog.text) == trained
    assert (type(place.layer).__name__ == "Frozen") == (not trained)
