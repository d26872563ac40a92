"""-test: means of a test net's outputs over its data."""

import json
from functools import partial
from operator import itemgetter

from sparkdl.commands.caffe.records import batch_size, reading_of
from sparkdl.data import files
from sparkdl.errors import DataError, SparkdlError
from sparkdl.interop.caffe.evaluation.blob_values import blobs_of
from sparkdl.interop.caffe.evaluation.head import FirstRecords
from sparkdl.interop.caffe.evaluation.net_evaluation import visible_outputs
from sparkdl.spark.gpu_process.dispatch import run_partition_on_device
from sparkdl.spark.inference.predictions import load_replica
from sparkdl.spark.jobs.job import job
from sparkdl.spark.jobs.shared_value import sharing
from sparkdl.spark.records.locality import split_rdd
from sparkdl.training.workers.contribution import failure_of, unwrap


def means_of(sc, net, source, state, batches, device, tally):
    """Returns ({blob: mean over examples, (numbers,) float64}, number of examples) of a net.

    Parameters
    ----------
    batches : int or None
        Minibatches to use from the start of the data; None: all. Each record counts once; if there
        are too few, Caffe would start again at the first.
    device : str
        Device to compute on.
    tally : DeviceTally
        Records the devices on which tasks compute.
    """
    if batches is not None:
        source = FirstRecords(source, batches * batch_size(net), batch_size(net))
    reading = reading_of(source, net, blobs_of(net, visible_outputs(net), "a test"))
    with (
        job(sc, "test", "a test"),
        sharing(sc, (net.conf, state.without_slots(), device, "auto")) as model,
    ):
        each = partial(run_partition_on_device, device, partial(score, model, reading), tally=tally)
        ranked = split_rdd(sc, source.splits()).mapPartitionsWithIndex(each).collect()
    parts = [part for _, values in sorted(ranked, key=itemgetter(0)) for part in unwrap(values)]
    examples = sum(n for n, _ in parts)
    if not examples:
        raise DataError("there are no records to test on")
    means = {
        name: sum(n * values[name] for n, values in parts) / examples
        for name in reading.blobs.names
    }
    return means, examples


def score(model, reading, number, splits):
    """Yields a partition's (number, [(examples, {blob: mean}) per minibatch]), or a Failure."""
    try:
        replica = load_replica(model)
        batches = (batch for split in splits for batch in reading.batches(split))
        yield number, [(len(one), reading.blobs.means(replica, one)) for one in batches]
    except SparkdlError as error:
        yield number, failure_of(error)


def write_means(path, means):
    """Writes the means as JSON: {blob: [numbers]}."""
    text = json.dumps({name: values.tolist() for name, values in means.items()}, indent=1)
    files.write(path, f"{text}\n".encode())
