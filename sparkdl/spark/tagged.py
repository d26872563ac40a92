"""Records for the test nets of a solver of Caffe."""

from functools import partial

from sparkdl.interop.caffe.testing import tagged
from sparkdl.training.aggregate import Failure
from sparkdl.training.schema import schema_of


def tagged_batches(sc, nets, tests):
    """An RDD of the Batches of all tests, each tagged with its net's number, and Failures.

    Parameters
    ----------
    nets : sequence of CaffeNet
    tests : sequence of Records
        For each net; or none at all.
    """
    found = []
    for number, records in enumerate(tests):
        schema = schema_of(nets[number].conf, transform=records.transform)
        found.append(records.batches(sc, schema).map(partial(tag, number)))
    return sc.union(found) if found else None


def tag(net, item):
    return item if isinstance(item, Failure) else tagged(net, item)
