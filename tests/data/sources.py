"""Every source of files: how its files are written and read by means other than its own."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparkdl.data import Csv, Parquet, files


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A row of the table.

    Parameters
    ----------
    source : callable (path) -> Source
    small : dict
        Options that make many splits of small files.
    encode : callable (x, y) -> bytes of a file of uint8 records (n, 3, 4, 5) and labels (n,)
    decode : callable (bytes) -> x, y, by another reader than ours
    ending : str
        Of the files' names.
    options : dict
        Fields of the source but its path, other than their defaults, as a configuration has them.
    """

    source: Callable
    encode: Callable
    decode: Callable
    ending: str
    small: dict
    options: dict


def records(count):
    rng = np.random.default_rng(count)
    return rng.integers(0, 256, (count, 3, 4, 5)).astype(np.uint8), rng.integers(0, 10, count)


def write(path, content):
    with files.open(path, "wb") as file:
        file.write(content)
    return str(path)


def encode_csv(x, y):
    names = ",".join([f"x{i}" for i in range(60)] + ["label"])
    rows = [",".join(map(str, [*one.ravel().tolist(), label])) for one, label in zip(x, y)]
    return "".join(f"{row}\n" for row in [names, *rows]).encode()


def decode_csv(content):
    rows = list(csv.reader(io.StringIO(content.decode())))[1:]
    numbers = np.array(rows, float).reshape(-1, 61)
    return numbers[:, :60], numbers[:, 60]


def encode_parquet(x, y):
    file = io.BytesIO()
    table = pa.table({"features": [one.tobytes() for one in x], "label": y})
    pq.write_table(table, file, row_group_size=max(3, len(y) // 20))
    return file.getvalue()


def decode_parquet(content):
    frame = pq.read_table(pa.BufferReader(content)).to_pandas()
    return np.array(
        [np.frombuffer(one, np.uint8) for one in frame.features]
    ), frame.label.to_numpy()


KINDS = {
    "Csv": Kind(
        source=Csv,
        encode=encode_csv,
        decode=decode_csv,
        ending=".csv",
        small={"bytes_per_split": 300},
        options={"label": -1, "header": False, "delimiter": ";"},
    ),
    "Parquet": Kind(
        source=Parquet,
        encode=encode_parquet,
        decode=decode_parquet,
        ending=".parquet",
        small={},
        options={"features": "x", "label": None},
    ),
}
