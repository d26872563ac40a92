"""Inputs of the cost model for a network cut into stages."""

import pytest

from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.masters.pipeline_parallel.pipeline_model import (
    pipeline_model,
    pipeline_models,
)

CONF = NetworkConf(
    input_shape=(10,), layers=[Dense(units=20), Dense(units=20), Dense(units=5), Output(units=5)]
)


def test_what_crosses_and_what_stages_hold():
    model = pipeline_model(CONF, [0, 2, 4], batch_size=8, microbatches=2)
    assert model.stages == 2 and model.microbatches == 2
    assert model.crossing == 8 * 20 * 4 and model.inputs == 8 * 10 * 4
    assert model.nbytes == 4 * (10 * 20 + 20 + 20 * 20 + 20)
    assert 0.5 < model.slowest < 1
    assert model.least == pytest.approx(4 * 640 * 4 / 1.5e10), "of 640 parameters, moved 4 times"


def test_all_numbers_of_stages_that_divide_the_workers():
    assert [model.stages for model in pipeline_models(CONF, 12, 8)] == [2, 3, 4]
    assert pipeline_models(CONF, 1, 8) == []
    assert pipeline_models(CONF, 7, 8) == []


@pytest.mark.parametrize("stages", [2, 4])
def test_no_stage_has_more_than_all(stages):
    [model] = [m for m in pipeline_models(CONF, 4, 8) if m.stages == stages]
    assert 1 / stages <= model.slowest < 1
