"""Whole numbers that floats do not compute as torch does."""

import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch import read_module
from tests.interop.torch.aten.comparison import check_like_torch
from tests.interop.torch.aten.modules import functional

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
IDS = torch.tensor([[1, 5, 3, 7], [2, 8, 4, 6]])


def table():
    """Returns an embedding whose numbers 16-bit floats have."""
    return torch.nn.Embedding.from_pretrained(torch.eye(4).repeat(200, 1))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
@pytest.mark.parametrize("run", [lambda m, x: (x - 1).float(), lambda m, x: (x * x).float()])
def test_arithmetic_that_wraps_around_is_refused(dtype, run):
    with pytest.raises(UnsupportedError, match=f"arithmetic in {dtype}, which wraps around"):
        read_module(functional({}, run), (IDS.to(dtype),))


def test_small_whole_numbers_are_moved_and_cast():
    small = IDS.to(torch.uint8)
    check_like_torch(lambda m, x: x.reshape(-1, 2, 2)[:, 1].float() - 9, (small,), (small,))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "run, name",
    [
        (lambda m, ids: ids.float() - 256, "to"),
        (lambda m, ids: m.e(ids + 1).flatten(1), "add"),
        (lambda m, ids: m.e(ids[:, 1:]).flatten(1), "slice"),
        (lambda m, ids: (ids != 0).sum(1, keepdim=True).float(), "sum"),
    ],
)
def test_narrow_floats_do_not_compute_with_whole_numbers(dtype, run, name):
    words = rf"{name}.*computing with whole numbers in {dtype}, which rounds them"
    with pytest.raises(UnsupportedError, match=words):
        read_module(functional({"e": table()}, run), (IDS,), dtype=dtype)


def test_narrow_floats_look_up():
    module = functional({"e": table()}, lambda m, ids: m.e(ids.unsqueeze(1).flatten(1)))
    net = read_module(module, (IDS,), dtype="bfloat16")
    ids = torch.tensor([[257, 259, 0, 0], [701, 514, 0, 0]])
    [ours] = net.run(ids.numpy().astype("float32"))
    assert (ours == module(ids).numpy()).all()
