"""Operations on two operands, and constant masks, against torch."""

import numpy as np
import pytest

from tests.interop.torch.aten.comparison import check_like_torch

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
THIRD = torch.tensor([False, False, True, False])


@pytest.mark.parametrize(
    "run",
    [
        lambda m, ids: ((ids == 1) + (ids != 6)).float(),
        lambda m, ids: (~((ids == 1) + (ids == 1))).float(),
        lambda m, ids: ((ids == 1) + THIRD).float(),
        lambda m, ids: (ids == 1).add_(ids != 6).float(),
        lambda m, ids: ((ids == 1) * (ids != 6)).float(),
    ],
)
def test_sums_of_booleans_are_booleans(run):
    check_like_torch(run, (torch.full((2, 4), 6),), (torch.tensor([[1, 6, 1, 2]]),))


@pytest.mark.parametrize("number", [0.0, 3.0, -1e9, -np.inf])
def test_what_a_constant_mask_replaces_may_be_infinite(number):
    others = torch.tensor([[1.0, 2.0, 100.0, 1.0]])
    check_like_torch(
        lambda m, x: x.exp().masked_fill(THIRD, number).softmax(-1), (torch.randn(3, 4),), (others,)
    )


def test_a_low_number_of_a_constant_mask_stays():
    others = torch.tensor([[1.0, 2.0, 3000.0, 1.0]])
    check_like_torch(
        lambda m, x: (x * x * x).masked_fill(THIRD, -1e9), (torch.randn(3, 4),), (others,)
    )
    check_like_torch(lambda m, x: torch.where(THIRD, 3.0, x), (torch.randn(3, 4),), (others,))
