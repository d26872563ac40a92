"""Every row of the table of operations, forward and backward, on the host driver."""

import numpy as np
import pytest

from sparkdl.engine import compile
from sparkdl.engine.ops.base import Op
from sparkdl.engine.ops.elementwise import ElementwiseOp
from sparkdl.errors import UnsupportedError
from tests.engine.backends.cuda.support import assert_row
from tests.engine.cases import CASES
from tests.engine.support import trace
from tests.support.tables import first_of_each

ELEMENTWISE = [cls.kind for cls in ElementwiseOp.__subclasses__()]  # covered by test_chains.py
ROWS = [n for n in CASES if n.split()[0] not in ELEMENTWISE]


@pytest.mark.parametrize("name", first_of_each(ROWS))
def test_a_row_is_the_references(name):
    assert_row(name)


class Unknown(Op):
    """Has neither a kernel nor a decomposition."""

    def shape(self, x):
        return x


def test_an_operation_from_elsewhere_is_refused():
    x = np.zeros(3, np.float32)
    with pytest.raises(UnsupportedError, match="cuda has no kernel for Unknown"):
        compile(trace(Unknown(), x), "cuda")
