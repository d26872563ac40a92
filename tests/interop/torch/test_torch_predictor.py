"""torch modules as predictors, with any inputs and outputs, against direct calls."""

import pickle

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.interop.predictors import ArraySpec
from sparkdl.interop.torch import TorchPredictor
from tests.interop.torch.modules import perceptron

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
IDS = ("int64", (None,))


def encoder():
    """Returns a module with the inputs and outputs of text encoders."""
    torch.manual_seed(3)

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(11, 4)
            self.dropout = torch.nn.Dropout(0.5)

        def forward(self, input_ids, attention_mask):
            steps = self.dropout(self.embedding(input_ids)) * attention_mask[..., None]
            mean = steps.sum(1) / attention_mask.sum(1, keepdim=True).clamp(min=1)
            return {"steps": steps, "mean": mean, "cache": None}

    return Encoder()


def test_an_encoder_is_known_by_names_and_computes_as_in_use():
    predictor = TorchPredictor(encoder, inputs={"input_ids": IDS, "attention_mask": IDS})
    assert predictor.outputs == {
        "steps": ArraySpec("float32", (None, 4)),
        "mean": ArraySpec("float32", (4,)),
    }
    rng = np.random.default_rng(0)
    arrays = {"input_ids": rng.integers(0, 11, (3, 5)), "attention_mask": np.ones((3, 5), int)}
    found = pickle.loads(pickle.dumps(predictor)).load(["mean"])(arrays)
    with torch.no_grad():
        y = encoder().eval()(**{name: torch.from_numpy(a) for name, a in arrays.items()})
    assert list(found) == ["mean"]
    np.testing.assert_array_equal(found["mean"], y["mean"].numpy())


def test_an_only_input_has_any_name():
    predictor = TorchPredictor(perceptron, inputs={"row": ("float32", (4,))})
    assert predictor.outputs == {"output": ArraySpec("float32", (3,))}


def test_steps_that_are_pooled_are_an_open_axis():
    """Two and three steps both give one, so the length of the output is open."""
    predictor = TorchPredictor(lambda: torch.nn.MaxPool1d(2), inputs={"x": ("float32", (4, None))})
    assert predictor.outputs == {"output": ArraySpec("float32", (4, None))}


class Positions(torch.nn.Module):
    """Takes at most five steps, the size of its table of positions."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 3)

    def forward(self, x):
        return x + self.table(torch.arange(x.shape[1]))


def test_a_module_may_take_few_steps_alone():
    predictor = TorchPredictor(Positions, inputs={"x": ("float32", (None, 3))})
    assert predictor.outputs == {"output": ArraySpec("float32", (None, 3))}


def narrow():
    return torch.nn.Linear(4, 3).bfloat16()


class Widened(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.part = narrow()

    def forward(self, x):
        return self.part(x.bfloat16())


def test_numbers_that_numpy_lacks_are_float32():
    predictor = TorchPredictor(Widened, inputs={"row": ("float32", (4,))})
    assert predictor.outputs == {"output": ArraySpec("float32", (3,))}
    x = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    with torch.no_grad():
        expected = Widened()(torch.tensor(x)).float().numpy()
    np.testing.assert_array_equal(predictor.load(["output"])({"row": x})["output"], expected)


def swaps_axes():
    class Swap(torch.nn.Module):
        def forward(self, x):
            return x.sum(0)

    return Swap()


@pytest.mark.parametrize(
    ("make", "inputs", "error", "says"),
    [
        (lambda: 3, {"x": ("float32", (4,))}, ConfigError, "torch.nn.Module"),
        (encoder, {"ids": IDS, "attention_mask": IDS}, ConfigError, "parameters of forward"),
        (perceptron, {"x": ("float32", (5,))}, ShapeError, "module that takes"),
        (swaps_axes, {"x": ("float32", (4,))}, ShapeError, "examples in front"),
    ],
    ids=["no module", "other names", "another shape", "no examples"],
)
def test_what_cannot_be_is_refused(make, inputs, error, says):
    with pytest.raises(error, match=says):
        TorchPredictor(make, inputs=inputs)
