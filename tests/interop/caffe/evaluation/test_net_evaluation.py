"""Outputs that are reported when a net is tested."""

import numpy as np
import pytest

from sparkdl.data import Batch
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.evaluation import net_evaluation
from sparkdl.interop.caffe.evaluation.blob_values import blobs_of
from sparkdl.nn.execution.replica import Replica
from tests.interop.caffe.layers.test_axes import STACKED
from tests.interop.caffe.layers.test_special_layers import load


class Source:
    transform = None


@pytest.mark.slow
def test_batches_behind_each_other_that_nothing_reads_are_shown(rng):
    """The report is their mean over the examples of both, as for any output in Caffe."""
    net = load(STACKED, "TEST", a=(4,), b=(4,))
    a, b = rng.normal(size=(2, 3, 4)).astype("f")
    (shown,) = net_evaluation.testing_of(net, (net,), (Source,)).blobs
    batch = Batch(columns={"a": a, "b": b}, ids=np.arange(3, dtype=np.uint64))
    means = shown.means(Replica(net.conf), batch)
    assert shown.names == ("y",)
    wanted = (np.concatenate([a, b]).astype(float) ** 2).mean(0)
    np.testing.assert_allclose(means["y"], wanted, rtol=1e-5)


def test_their_rows_belong_to_nobody():
    net = load(STACKED, "TEST", a=(4,), b=(4,))
    with pytest.raises(ConfigError, match="-features must name blobs of the net"):
        blobs_of(net, ["y"])
