"""Workers on this machine are forked from a process that has loaded torch already."""

import os
from pathlib import Path

import pytest

from sparkdl.interop.torch import TorchModel
from sparkdl.training.network import Network
from sparkdl.training.workers.fork_server.own_server import SERVER
from sparkdl.training.workers.local import LocalWorkers
from tests.interop.torch.modules import Partitions, model
from tests.interop.torch.optimizers import sgd
from tests.training.workers.fork_server.asked import Asked

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")

LOADED = "'torch' in sys.modules"
LOADED_BY_AN_OPTIMIZER = (  # the number of modules
    "(lambda before, torch: (torch.optim.Adam([torch.zeros(1, requires_grad=True)]), "
    "len(sys.modules) - before)[1])(len(sys.modules), sys.modules['torch'])"
)


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(SERVER, "_needed", [])


def test_a_torch_model_has_workers_begin_with_torch():
    with Asked() as asked:
        assert not asked(LOADED)
    model("perceptron")
    with Asked() as asked:
        assert asked(LOADED) and asked(LOADED_BY_AN_OPTIMIZER) > 0


def test_one_with_an_optimizer_of_torch_has_them_begin_with_that_too():
    model("perceptron", torch_optimizer=sgd)
    with Asked() as asked:
        assert asked(LOADED) and asked(LOADED_BY_AN_OPTIMIZER) == 0


class Linear(torch.nn.Linear):
    """Writes down the number of threads that each process computes with."""

    def __init__(self, folder):
        super().__init__(4, 3)
        self.folder = folder

    def forward(self, x):
        Path(self.folder, str(os.getpid())).write_text(str(torch.get_num_threads()))
        return super().forward(x)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_computes_with_its_threads_though_torch_was_loaded_before(threads, tmp_path):
    conf = TorchModel(make=lambda: Linear(str(tmp_path)), input_shape=(4,))
    with LocalWorkers(2, threads=threads) as workers:
        Network(conf).fit(Partitions("perceptron", [20, 20]), 1, workers=workers)
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    found.pop(str(os.getpid()), None)
    assert list(found.values()) == [str(threads)] * 2
