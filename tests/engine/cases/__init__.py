"""One row for each way of using an operation: how it is called, on what, and what it must give.

A family of operations is a module with a table CASES of its own; it is entered here.
"""

from tests.engine.cases import core, windows

CASES = {**core.CASES, **windows.CASES}
