"""Graphs of modules, by torch.export."""

import sys
from contextlib import redirect_stderr
from io import StringIO


def export_module(torch, module, inputs):
    """Returns the ExportedProgram of a module in its present mode.

    Torch prints the graph so far to the terminal if it fails; that is left out, and the error has
    it as `partial_fx_graph`.

    Raises
    ------
    Exception
        Of any class: torch's, or that of the module's code.
    """
    printed = StringIO()
    with redirect_stderr(printed):
        exported = torch.export.export(module, inputs)
    sys.stderr.write(printed.getvalue())
    return exported
