"""Graphs of modules that torch.export refuses: the error is ours, and the terminal stays clean."""

import sys

import pytest

from sparkdl.errors import UnsupportedError
from sparkdl.interop.torch import read_module
from sparkdl.interop.torch.aten.exported_graph import export_module
from tests.interop.torch.aten.modules import functional

torch = pytest.importorskip("torch", reason="needs torch: python build.py test --torch")


def branch(module, x):
    y = module.part(x)
    return 2 * y if (module.training or module.always) and y.sum() > 0 else y


def branching(always):
    module = functional({"part": torch.nn.Linear(4, 4)}, branch)
    module.always = always
    return module


def test_torchs_graph_is_not_printed(capfd):
    net = read_module(branching(always=False), (torch.randn(3, 4),))
    assert net.run(torch.zeros(3, 4).numpy())
    printed = capfd.readouterr()
    assert "torch.ops.aten" not in printed.out + printed.err


def test_a_module_that_cannot_be_exported_is_refused(capfd):
    with pytest.raises(UnsupportedError, match="Functional cannot be exported by torch.export: "):
        read_module(branching(always=True), (torch.randn(3, 4),))
    assert "torch.ops.aten" not in capfd.readouterr().err


def test_what_the_module_writes_is_shown(capsys):
    def write(module, x):
        print("as usual", file=sys.stderr)
        return module.part(x)

    module = functional({"part": torch.nn.Linear(4, 4)}, write)
    export_module(torch, module.eval(), (torch.randn(3, 4),))
    assert "as usual" in capsys.readouterr().err
