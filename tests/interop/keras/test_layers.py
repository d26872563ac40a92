"""Layers read from Keras, against Keras itself."""

import numpy as np
import pytest

from sparkdl.interop.keras import read_keras
from tests.interop.keras.layer_table import CASES, made
from tests.interop.keras.models import answer, chain, drawn
from tests.support.tables import for_all, in_parts


@pytest.mark.slow
@pytest.mark.parametrize("names", in_parts(CASES))
def test_outputs_are_those_of_keras(names, tmp_path):
    def check(name):
        layer, shape = CASES[name]
        model = chain(made(layer), shape=shape)
        x = drawn(2, 3, *shape)
        x = np.floor(np.abs(x) * 3) if name == "embedding" else x
        model.save(tmp_path / "model.keras")
        ours = read_keras(str(tmp_path / "model.keras")).run(x)
        np.testing.assert_allclose(ours, answer(model, x), rtol=1e-4, atol=1e-5)

    for_all(names, check)
