"""sparkdl convert: copies records from any source to an LMDB, Parquet or SequenceFiles."""

from sparkdl.commands.image_mean import ImageMean
from sparkdl.commands.options.data_argument import parse_data
from sparkdl.data import write_lmdb_anywhere, write_parquet, write_sequence_datums
from sparkdl.data.batches.batch import require_plain
from sparkdl.errors import ConfigError, DataError

WRITERS = {
    "LMDB": write_lmdb_anywhere,
    "Parquet": write_parquet,
    "SequenceFiles": write_sequence_datums,
}


def convert(arguments):
    """Reads every record once, in order, and writes it."""
    if arguments.output is None and arguments.mean is None:
        raise ConfigError("--output or --mean must be given: there is nothing else to write")
    data = parse_data(arguments.data)
    data.check()
    mean = None if arguments.mean is None else ImageMean(arguments.mean, arguments.output)
    batches = records(data, shape_of(arguments.shape), mean)
    if arguments.output is None:
        count = count_records(batches)
    else:
        count = WRITERS[arguments.to](arguments.output, batches)
        print(f"{count} records are in {arguments.output}")
    if mean is not None:
        mean.write(count)
        print(f"the mean of {count} images is in {arguments.mean}")


def records(source, shape, mean):
    """Yields Batches of all records after the source's transform.

    Their columns are checked by whoever takes them.
    """
    for split in source.splits():
        for batch in source.read(split):
            batch = batch if source.transform is None else source.transform(batch)
            if shape is not None and batch.features is not None:
                batch = reshape_features(batch, shape, split)
            if mean is not None and batch.features is not None:
                mean.add(batch.features, split)
            yield batch


def count_records(batches):
    """Returns the number of records, checked as those that are written."""
    count = 0
    for batch in batches:
        require_plain(batch)
        count += len(batch)
    return count


def reshape_features(batch, shape, split):
    try:
        return batch.replace(features=batch.features.reshape(len(batch), *shape))
    except ValueError:
        got = batch.features.shape[1:]
        raise DataError(f"{split}: records of {got} cannot be reshaped to {shape}") from None


def shape_of(written):
    """Parses "3,32,32" into (3, 32, 32)."""
    if written is None:
        return None
    sizes = written.replace("x", ",").split(",")
    if not all(size.strip().isdecimal() and int(size) for size in sizes):
        raise ConfigError(f"--shape must be sizes such as 3,32,32, got {written!r}")
    return tuple(map(int, sizes))
