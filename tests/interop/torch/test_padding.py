"""Sequences shorter than a module's input: refused, padded with zeros, or padded with a mask."""

import numpy as np
import pytest

from sparkdl import Batch
from sparkdl.data.batches.sequences import Ragged
from sparkdl.errors import ConfigError, DataError
from sparkdl.interop.torch import TorchModel
from sparkdl.nn import conf_from_json
from sparkdl.training.inputs.schema import schema_of
from sparkdl.training.network import Network

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")
LENGTHS = np.array([3, 1, 5, 4])
MASK = (np.arange(5) < LENGTHS[:, None]).astype(np.float32)


class Texts(torch.nn.Module):
    """Averages over the steps, or over the existing steps if it gets a mask."""

    def __init__(self):
        super().__init__()
        self.words, self.head = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 3)

    def forward(self, ids, there=None):
        there = torch.ones(ids.shape, dtype=bool) if there is None else there
        assert there.dtype == torch.bool
        steps = self.words(ids) * there[..., None]
        return self.head(steps.sum(1) / there.sum(1, keepdim=True))


def conf_of(padding, **options):
    common = {"make": Texts, "input_shape": (5,), "input_type": "int64", "seed": 1}
    return TorchModel(padding=padding, **common | options)


def batch_of(**columns):
    ids = np.where(MASK > 0, np.random.default_rng(0).integers(1, 9, (4, 5)), 0)
    columns = {"features": ids, "mask": MASK, "labels": np.array([0, 1, 2, 1])} | columns
    return Batch(columns=columns, ids=np.arange(4, dtype=np.uint64))


def test_a_module_that_takes_a_mask_trains_as_in_torch_on_sequences_without_padding():
    replica, batch = Network(conf_of("mask")).replica, batch_of()
    torch.manual_seed(1)
    module = Texts()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    sequences = [torch.tensor(row[:n])[None] for row, n in zip(batch.features, LENGTHS)]

    def answers():
        return torch.cat([module(ids) for ids in sequences])

    for t in range(1, 4):
        loss = torch.nn.functional.cross_entropy(answers(), torch.tensor(batch.labels))
        assert replica.step(batch, 0.5, t) == pytest.approx(4 * loss.item(), rel=1e-5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    logits = replica.forward(batch, ["module"])["module"]
    np.testing.assert_allclose(logits, answers().detach().numpy(), atol=1e-5)


def test_without_a_mask_all_steps_are_there():
    batch = batch_of(mask=np.ones((4, 5), np.float32))
    given = [Network(conf_of(padding)).replica for padding in ("mask", "zeros", "refused")]
    bare = {name: x for name, x in batch.columns.items() if name != "mask"}
    batches = batch, Batch(columns=bare, ids=batch.ids)
    found = [r.forward(b, ["module"])["module"] for r in given for b in batches]
    for logits in found[1:]:
        np.testing.assert_array_equal(logits, found[0])


def test_zeros_stand_for_steps_that_are_not_there():
    replica = Network(conf_of("zeros")).replica
    torch.manual_seed(1)
    expected = Texts()(torch.tensor(batch_of().features)).detach().numpy()
    found = replica.forward(batch_of(), ["module"])["module"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_padding_is_refused_unless_it_is_asked_for():
    replica = Network(
        conf_of("refused", input_shape=(5, 1), make=Steps, input_type="float32")
    ).replica
    batch = batch_of(features=np.ones((4, 5, 1), np.float32))
    for use in (lambda: replica.step(batch, 0.1, 1), lambda: replica.forward(batch)):
        with pytest.raises(DataError, match=r"features must have 5 steps, got 3; .*padding="):
            use()


class Steps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(5, 3)

    def forward(self, x):
        return self.head(x.flatten(1))


def test_lists_of_ids_are_padded_where_that_is_asked_for():
    raw = {"features": Ragged.of([np.arange(1, n + 1) for n in LENGTHS]), "labels": np.zeros(4)}
    columns = schema_of(conf_of("mask")).convert(raw)
    np.testing.assert_array_equal(columns["mask"], MASK)
    np.testing.assert_array_equal(columns["features"], np.arange(1, 6) * (MASK > 0))
    assert not schema_of(conf_of("refused")).masks


def test_documents_keep_it():
    conf = conf_of("mask")
    assert conf_from_json(conf.to_json()).padding == "mask"


def test_only_sequences_are_padded():
    with pytest.raises(ConfigError, match=r'padding must be "refused" unless examples are'):
        TorchModel(make=lambda: torch.nn.Linear(4, 3), input_shape=(4,), padding="zeros")
