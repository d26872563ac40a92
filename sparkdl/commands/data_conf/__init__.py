"""Where records come from, as a run configuration says it: {type: LMDB, path: ..., scale: ...}."""

from sparkdl.commands.data_conf.base import DataConf, parse_data
from sparkdl.commands.data_conf.files import (
    HDF5,
    AvroFiles,
    Cifar,
    Csv,
    Idx,
    Images,
    Parquet,
    SequenceFiles,
    TFRecords,
)
from sparkdl.commands.data_conf.members import LMDB, Digits, Text
