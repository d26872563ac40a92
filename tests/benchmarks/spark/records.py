"""The records that all sides read: arrays in a numpy file, and Parquet rows."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparkdl.data import digits
from tests.benchmarks.idx import read_idx

ROWS, PAIRS, PARTS = 60_000, 10_000, 4


def write_records(folder, mnist=None):
    """Writes pairs.npz (x, y for training, xs, ys for evaluation) and rows.parquet.

    The folder raw holds each array as bytes.
    """
    train, test = digits("train"), digits("test")
    x, y, xs, ys = train.features, train.labels, test.features, test.labels
    if mnist is not None:
        xs, ys = np.concatenate([x, xs]), np.concatenate([y, ys])
        x = read_idx(mnist / "train-images-idx3-ubyte.gz")
        y = read_idx(mnist / "train-labels-idx1-ubyte.gz")
    chosen = np.arange(ROWS) % len(x)
    x, y = x.reshape(-1, 784)[chosen], y.astype(np.int32)[chosen]
    pairs = {"x": x[:PAIRS], "y": y[:PAIRS], "xs": xs.reshape(-1, 784), "ys": ys}
    np.savez(Path(folder) / "pairs.npz", **pairs)
    raw = Path(folder) / "raw"
    raw.mkdir()
    for name, array in pairs.items():
        (raw / name).write_bytes(array.astype(np.uint8).tobytes())
    rows = Path(folder) / "rows.parquet"
    rows.mkdir()
    for part, indices in enumerate(np.array_split(np.arange(ROWS), PARTS)):
        write_part(rows / f"part-{part}.parquet", x[indices], y[indices])


def write_part(path, x, y):
    """Writes features, a list of 784 floats in [0, 1], and label to one file."""
    offsets = np.arange(0, x.size + 1, x.shape[1], dtype=np.int32)
    values = (x / 255).astype(np.float32).reshape(-1)
    features = pa.ListArray.from_arrays(offsets, pa.array(values))
    table = pa.table({"features": features, "label": pa.array(y)})
    pq.write_table(table, path, row_group_size=5_000)


def read_pairs(folder, shape):
    """Returns (features, label) pairs, and evaluation data (xs, ys), features in a shape."""
    data = np.load(Path(folder) / "pairs.npz")
    x = (data["x"] / 255).astype(np.float32).reshape(-1, *shape)
    xs = (data["xs"] / 255).astype(np.float32).reshape(-1, *shape)
    return list(zip(x, data["y"], strict=True)), xs, data["ys"]
