"""Live modules read as our networks, against torch."""

import numpy as np
import pytest

from sparkdl import Batch, Sgd
from sparkdl.errors import ConfigError, UnsupportedError
from sparkdl.interop.torch import read_module
from tests.interop.torch.aten.modules import MODULES, functional

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
# torch.export itself warns about LSTMs, which hold their weights in two places.
pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes:UserWarning")
IDS = np.arange(4, dtype=np.uint64)


def drawn(shapes, count, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randint(0, 20, (count, 4), generator=rng)
        if shape == "ids"
        else torch.randn((count, *shape), generator=rng)
        for shape in shapes
    )


def made(name):
    """Returns a module with random running statistics, and the shapes of its inputs."""
    make, shapes = MODULES[name]
    torch.manual_seed(3)
    module = make()
    for own, buffer in module.named_buffers():
        if "running" in own:
            buffer.uniform_(0.5, 1.5)
    return module, shapes


@pytest.mark.parametrize("name", MODULES)
def test_outputs_are_those_of_torch(name):
    """For other inputs and another batch size than in the export."""
    module, shapes = made(name)
    net, x = read_module(module, drawn(shapes, 2)), drawn(shapes, 5, seed=1)
    assert module.training
    with torch.no_grad():
        theirs = module.eval()(*x).numpy()
    [ours] = net.run(*(one.numpy().astype(np.float32) for one in x))
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(np.abs(theirs).max(), 1))


@pytest.mark.parametrize(
    "name",
    [
        *("lenet", "texts", "mixer", "gru", "encoder", "gpt", "bert", "grouped"),
        *("frozen", "buffered", "padded", "tied", "single", "detached"),
        *("padded by numbers", "typed", "typed each", "normed twice"),
        *(
            "broadcast to",
            "frozen token",
            "zeros",
            "mobile",
            "vit",
            "scaled",
            "normalized",
            "gates",
            "repeated",
            "between",
        ),
    ],
)
def test_training_is_that_of_torch(name):
    """Compares the losses of three steps, then the outputs."""
    module, shapes = made(name)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    net = read_module(module, drawn(shapes, 2), loss="softmax_cross_entropy", optimizer=Sgd())
    [x], labels = drawn(shapes, 4, seed=1), torch.tensor([0, 2, 1, 1])
    features = x.numpy().astype(np.float32)
    batch = Batch(columns={"features": features, "labels": labels.numpy()}, ids=IDS)
    replica = net.network._load()
    for t in range(1, 4):
        loss = torch.nn.functional.cross_entropy(module(x), labels)
        assert replica.step(batch, 0.1, t) == pytest.approx(4 * loss.item(), rel=1e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    theirs = module.eval()(x).detach().numpy()
    ours = replica.forward(batch, list(net.outputs))[net.outputs[0]]
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * max(np.abs(theirs).max(), 1))


LABELS = torch.tensor([0, 2, 1, 1])
ENDS = {
    "softmax": (torch.nn.Softmax(1), "softmax_cross_entropy", LABELS, torch.nn.NLLLoss()),
    "sigmoid": (
        torch.nn.Sigmoid(),
        "sigmoid_cross_entropy",
        torch.eye(3)[LABELS],
        lambda logs, y: -3 * (y * logs + (1 - y) * torch.log1p(-logs.exp())).mean(),
    ),
    "softmax of a part": (
        functional({}, lambda m, x: x.softmax(1).flatten(1)),
        "softmax_cross_entropy",
        LABELS,
        torch.nn.NLLLoss(),
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_loss_takes_the_place_of_the_function_that_it_applies(name):
    """The loss equals that of the module's own probabilities, which are the predictions."""
    end, loss, labels, theirs = ENDS[name]
    module, [x] = torch.nn.Sequential(torch.nn.Linear(6, 3), end), drawn([(6,)], 4)
    net = read_module(module, x, loss=loss, optimizer=Sgd())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    batch = Batch(columns={"features": x.numpy(), "labels": labels.numpy()}, ids=IDS)
    replica = net.network._load()
    for t in range(1, 4):
        expected = theirs(module(x).log(), labels)
        assert replica.step(batch, 0.5, t) == pytest.approx(4 * expected.item(), rel=1e-5)
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
    expected = module(x).detach().numpy()
    np.testing.assert_allclose(replica.forward(x.numpy())["output"], expected, atol=1e-6)


def test_logits_stay_what_the_network_gives():
    """Also with a regression loss."""
    module, x = torch.nn.Sequential(torch.nn.Linear(6, 3), torch.nn.Sigmoid()), drawn([(6,)], 4)
    for loss in ("mse", "softmax_cross_entropy"):
        net = read_module(module, x, loss=loss)
        np.testing.assert_allclose(*net.run(x[0].numpy()), module(*x).detach().numpy(), atol=1e-6)
        assert net.outputs != ("output",)


@pytest.mark.parametrize(
    "shape, names",
    [
        ((3,), ["Dropout"]),
        ((3, 4), ["Permute", "SpatialDropout", "Permute"]),
        ((3, 4, 4), ["SpatialDropout"]),
    ],
)
def test_whole_channels_drop_out(shape, names):
    """torch has the channels of sequences before the steps, ours has them last."""
    module = functional({}, lambda m, x: torch.feature_dropout(x, 0.5, m.training))
    net = read_module(module, drawn([shape], 2))
    assert [type(place.layer).__name__ for place in net.network.conf.stack] == names


@pytest.mark.parametrize("trains", [True, False], ids=["in training", "in evaluation"])
def test_frozen_attention_has_no_dropout(trains, caplog):
    """A warning names it if torch would apply dropout; the modes of all parts are kept."""
    part = torch.nn.MultiheadAttention(6, 2, dropout=0.1, batch_first=True).requires_grad_(False)
    module = functional({"part": part}, lambda m, x: m.part(x, x, x, need_weights=False)[0])
    part.train(trains)
    net = read_module(module, drawn([(3, 6)], 2))
    [place] = net.network.conf.stack
    assert type(place.layer).__name__ == "Frozen"
    assert place.layer.layer.dropout == 0
    assert caplog.text.count("part: it is frozen, so its dropout of 0.1 is left out") == trains
    assert (module.training, part.training) == (True, trains)


def test_a_constant_before_what_is_computed_is_refused():
    module = functional({}, lambda m, x: m.weight @ x)
    module.weight = torch.nn.Parameter(torch.randn(2, 3))
    with pytest.raises(UnsupportedError, match="matmul.*self that is constant is not supported"):
        read_module(module, drawn([(3, 4)], 2))


def test_softplus_with_a_low_threshold_is_refused():
    """It is x above the threshold, and was read as log(1 + exp x) where no example was above."""
    for threshold, words in ((0.5, "threshold=0.5"), (16.0, "threshold=16.0")):
        module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softplus(1, threshold))
        with pytest.raises(UnsupportedError, match=words):
            read_module(module, torch.zeros(2, 3))


def test_celu_that_rises_below_zero_is_refused():
    """With a negative alpha it was read as x, which showed only if an example was below 0."""
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.CELU(-0.5))
    module[0].bias.data.fill_(5)
    with pytest.raises(UnsupportedError, match=r"alpha=-0\.5 is not supported"):
        read_module(module, torch.zeros(2, 3))


def test_layers_have_the_paths_of_modules():
    net = read_module(made("resnet18")[0], drawn([(3, 33, 33)], 2))
    names = {place.name for place in net.network.conf.stack}
    assert {"conv1", "layer1.0.conv1", "layer4.0.downsample.1", "fc"} <= names
    assert net.outputs == ("fc",)


def test_all_that_is_not_supported_is_listed():
    parts = {"head": torch.nn.Linear(6, 2)}
    wrong = functional(parts, lambda m, x: m.head(x.cumsum(1)) + x.sort(1).values[:, :2])
    with pytest.raises(UnsupportedError) as error:
        read_module(wrong, drawn([(6,)], 2))
    for line in (
        "cumsum (cumsum): the operation cumsum is not supported",
        "linear (linear): reading ['cumsum'], which were refused",
        "sort (sort): the operation sort is not supported",
    ):
        assert line in str(error.value)


def test_an_axis_that_is_taken_for_another_is_refused():
    """Means over the batch, axes merged with it, and a given initial state."""
    module = functional({}, lambda m, x: x - x.mean(0))
    with pytest.raises(UnsupportedError, match="axis 0, that of the batch, is not supported"):
        read_module(module, drawn([(6,)], 2))
    turned = functional({}, lambda m, x: x.flatten(0, 1))
    with pytest.raises(UnsupportedError, match=r"flatten.* is not supported"):
        read_module(turned, drawn([(3, 3)], 3))
    start = functional(
        {"rnn": torch.nn.GRU(3, 2, batch_first=True)},
        lambda m, x: m.rnn(x, torch.ones(1, x.shape[0], 2))[0],
    )
    with pytest.raises(UnsupportedError, match="a first state other than zeros"):
        read_module(start, drawn([(4, 3)], 2))


@pytest.mark.parametrize(
    "options, mask, words",
    [
        ({}, None, "batch_first=False is not supported"),
        ({"batch_first": True}, "window", "another mask than a causal one"),
        ({"batch_first": True, "add_bias_kv": True}, None, "add_bias_kv or add_zero_attn"),
    ],
)
def test_attention_of_other_kinds_is_refused(options, mask, words):
    part = torch.nn.MultiheadAttention(6, 2, **options)
    module = functional({"part": part}, lambda m, x: m.part(x, x, x, attn_mask=m.mask)[0])
    module.register_buffer("mask", None if mask is None else torch.eye(3))
    with pytest.raises(UnsupportedError, match=words):
        read_module(module, drawn([(3, 6)], 3))


def test_what_is_no_module_or_no_batch_is_refused():
    with pytest.raises(ConfigError, match=r"module must be a torch\.nn\.Module"):
        read_module(abs, drawn([(6,)], 2))
    with pytest.raises(ConfigError, match=r"must be tensors \(n >= 2"):
        read_module(torch.nn.Linear(6, 2), drawn([(6,)], 1))


@pytest.mark.parametrize(
    "run, words",
    [
        (lambda m, x: x / x.shape[0], "differs by"),
        (lambda m, x: x * (x.shape[0] - 1), "differs by"),
        (lambda m, x: x[:3] * 2, r"has the shape \(4, 6\) instead of \(3, 6\)"),
    ],
)
def test_a_size_of_the_batch_that_the_export_fixes_is_refused(run, words):
    with pytest.raises(UnsupportedError, match=f"for a batch of another size: sparkdl's {words}"):
        read_module(functional({}, run), drawn([(6,)], 3))


def test_a_module_for_one_size_of_the_batch_is_read():
    module = functional({}, lambda m, x: x.view(3, 2, 3) * 2)
    [ours] = read_module(module, drawn([(6,)], 3)).run(np.ones((5, 6), np.float32))
    assert ours.shape == (5, 2, 3)


def test_examples_of_padding_only_get_no_attention():
    """As torch's own attention has it for booleans that show nothing."""
    module, _ = made("padding chosen")
    ids = torch.tensor([[3, 3, 3, 3], [1, 3, 4, 3]])
    net = read_module(module, drawn(["ids"], 2))
    with torch.no_grad():
        theirs = module.eval()(ids).numpy()
    [ours] = net.run(ids.numpy().astype(np.float32))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
