"""Masks that are computed of ids, against torch."""

import numpy as np
import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch import read_module
from tests.interop.torch.aten.comparison import check_like_torch, vectors
from tests.interop.torch.aten.modules import functional

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
IDS = torch.tensor([[1, 5, 3, 7], [2, 8, 4, 6]])
PADDED = torch.tensor([[0, 0, 3, 7], [2, 8, 0, 0], [0, 4, 6, 5]])
LOWEST = torch.finfo(torch.float32).min
# By numpy: torch's threads, once started, are missing in forked processes of tests.
LATER = torch.tensor(np.triu(np.ones((4, 4), bool), 1))


def mixed(m, ids, mask):
    """Returns attention whose scores get two masks, one of them constant."""
    x = m.e(ids)
    return mask(x @ x.transpose(1, 2), (ids == 0)[:, None, :]).softmax(-1) @ x


def added(scores, pad):
    return scores + torch.full((4, 4), -np.inf).triu(1) + pad.float() * LOWEST


def added_lowest(scores, pad):
    return scores + torch.full((4, 4), LOWEST).triu(1) + pad.float() * LOWEST


def filled(scores, pad):
    return scores.masked_fill(LATER, LOWEST).masked_fill(pad, -np.inf)


def filled_by_the_lowest(scores, pad):
    return scores.masked_fill(LATER, -np.inf).masked_fill(pad, LOWEST)


@pytest.mark.parametrize("mask", [added, added_lowest, filled, filled_by_the_lowest])
def test_numbers_that_hide_keep_their_order(mask):
    """Rows that both masks hide show what the higher number hides."""
    others = PADDED[:1] if mask is not filled else torch.tensor([[0, 0, 3, 7]])
    check_like_torch(lambda m, ids: mixed(m, ids, mask), (IDS,), (others,), e=vectors())


@pytest.mark.parametrize("low", [-np.inf, LOWEST])
def test_rows_that_a_computed_mask_hides_are_those_of_torch(low):
    """Minus infinity shows nothing, the lowest number shows all."""

    def run(m, ids):
        x, pad = m.e(ids), ids == 0
        mask = pad.float().masked_fill(pad, low)[:, None, :]
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    others = torch.cat([PADDED, torch.zeros_like(IDS)])
    check_like_torch(run, (IDS,), (others,), e=vectors())


def test_finite_numbers_of_an_input_leave_attention_to_rows_that_they_hide():
    def run(m, ids, mask):
        x = m.e(ids)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    mask = torch.zeros(len(IDS), 1, IDS.shape[1])
    others = torch.full(mask.shape, LOWEST)
    check_like_torch(run, (IDS, mask), (IDS, others), e=vectors())


@pytest.mark.parametrize("number", [-np.inf, -5.0, 0.0])
def test_what_a_computed_mask_replaces_may_be_infinite(number):
    def run(m, ids):
        return (m.e(ids) * 100).exp().masked_fill((ids == 0)[:, :, None], number).amax(1)

    embedding = torch.nn.Embedding.from_pretrained(torch.tensor([[9.0] * 4] + [[0.01] * 4] * 9))
    check_like_torch(run, (IDS,), (PADDED,), e=embedding)


def test_the_first_rounded_number_is_not_compared_with():
    module = functional({}, lambda m, ids: (ids != 2**24).float())
    with pytest.raises(UnsupportedError, match=r"ne \(ne\): comparing with 16777216"):
        read_module(module, (IDS,))
    check_like_torch(
        lambda m, ids: (ids != 2**24 - 1).float(),
        (IDS,),
        (torch.tensor([[2**24 + 1, 2**24 - 1]]).repeat(1, 2),),
    )


@pytest.mark.parametrize("dtype, limit", [("bfloat16", 256), ("float16", 2048)])
def test_narrow_floats_compare_with_numbers_that_they_have(dtype, limit):
    with pytest.raises(UnsupportedError, match=f"comparing with {limit + 1} in {dtype}"):
        read_module(functional({}, lambda m, ids: (ids != limit + 1).float()), (IDS,), dtype=dtype)
    module = functional({}, lambda m, ids: (ids == limit - 1).float())
    net = read_module(module, (IDS,), dtype=dtype)
    ids = torch.tensor([[limit - 1, limit, limit + 1, limit - 2], [0, 3, 3 * limit + 1, 1]])
    [ours] = net.run(ids.numpy().astype(np.float32))
    np.testing.assert_array_equal(ours, module(ids).numpy())


def test_masks_that_are_infinite_in_float16_are_refused_by_name():
    def run(m, ids):
        return m.e(ids).masked_fill((ids == 0)[:, :, None], -np.inf).amax(1)

    module = functional({"e": vectors()}, run)
    words = r"masked_fill.*a number of size 1e\+30 in float16, whose largest is 6.55e\+04"
    with pytest.raises(UnsupportedError, match=words):
        read_module(module, (IDS,), dtype="float16")
