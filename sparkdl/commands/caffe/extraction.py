"""-features: outputs of blobs for each test record, as a DataFrame."""

from functools import partial

from sparkdl.commands.caffe.records import reading_of
from sparkdl.interop.caffe.evaluation.blob_values import blobs_of
from sparkdl.spark.inference.predictions import load_replica
from sparkdl.spark.inference.split_frame import compute_frame

ID = "SampleID"


def features_frame(spark, net, source, model, names, device, tally):
    """Returns a DataFrame of all records: SampleID, and a column of float arrays for each blob.

    Computes lazily.

    Parameters
    ----------
    model : SharedValue (conf, state, device, backend)
        Must be kept until the frame has been computed.
    names : list of str, the blobs
    device : str
        Device to compute on.
    tally : DeviceTally
        Records the devices on which tasks compute.
    """
    reading = reading_of(source, net, blobs_of(net, names))
    compute = partial(features_of, model, reading)
    return compute_frame(spark, source.splits(), ID, names, compute, device, tally)


def features_of(model, reading, split):
    """Yields (ids, {blob: (n, numbers)}) for each minibatch of a split."""
    replica = load_replica(model)
    for ids, batch in reading.identify(split):
        yield ids, reading.blobs.rows(replica, batch)
