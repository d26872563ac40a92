"""Programs of several outputs in turn: each is compiled once per shape."""

import numpy as np
import pytest

from sparkdl.data.batches.batch import Batch
from sparkdl.errors import ConfigError
from sparkdl.nn import LSTM, GraphBuilder, RnnOutput
from sparkdl.nn.execution import replica_programs as programs
from sparkdl.nn.execution.replica import Replica

STEPS = 3


def tags(count):
    """Returns a network of `count` outputs for each step of a sequence."""
    build = GraphBuilder(x=(STEPS, 2))
    build.add(LSTM(units=2), "x", name="lstm")
    for i in range(count):
        build.add(RnnOutput(units=2), "lstm", name=f"tag_{i}")
    return build.conf(seed=3)


def batch_of(conf, n):
    """Returns n records, whose sequences have different lengths."""
    mask = (np.arange(STEPS) <= np.arange(n)[:, np.newaxis] % STEPS).astype(np.float32)
    columns = {"features": np.ones((n, STEPS, 2), np.float32), "mask": mask}
    columns |= {name: np.zeros((n, STEPS), np.int32) for name in conf.label_columns}
    return Batch(columns=columns, ids=np.arange(n, dtype=np.uint64))


@pytest.mark.parametrize("count, sizes", [(4, (40, 9)), (9, (8,))])
def test_outputs_in_turn_compile_once_per_shape(count, sizes, monkeypatch):
    conf, compiled = tags(count), []

    def compile_graph(*given, compile_graph=programs.compile_graph, **options):
        compiled.append(given)
        return compile_graph(*given, **options)

    monkeypatch.setattr(programs, "compile_graph", compile_graph)
    replica, names = Replica(conf), [None, *conf.label_columns]
    for size in sizes * 2:
        batch = batch_of(conf, size)
        for name in names:
            replica.losses(batch, name)
            replica.output_mask(batch, name)
    assert len(compiled) == 2 * len(names) * len(sizes)


def test_an_unknown_output_has_no_program():
    conf = tags(2)
    with pytest.raises(ConfigError, match=r"output must be one of \['tag_0', 'tag_1'\] or None"):
        Replica(conf).losses(batch_of(conf, 4), "tag")
