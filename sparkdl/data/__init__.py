"""Data: readers turn storage into Batches; with schemas, transforms and prefetching."""

from sparkdl.data import files
from sparkdl.data.batches.batch import Batch, position, record_ids
from sparkdl.data.batches.blocks import blocks, permutation
from sparkdl.data.batches.prefetch import prefetch
from sparkdl.data.batches.sequences import pad
from sparkdl.data.readers.avro.avro_files import AvroFiles
from sparkdl.data.readers.images import Images
from sparkdl.data.readers.lmdb_files.databases import LMDB
from sparkdl.data.readers.lmdb_files.writer import write_lmdb
from sparkdl.data.readers.ndarray.arrays import Arrays
from sparkdl.data.readers.ndarray.digits import Digits
from sparkdl.data.readers.ndarray.fixed_records import Cifar, Idx
from sparkdl.data.readers.ndarray.hdf5 import HDF5
from sparkdl.data.readers.sequence_file.sequence_files import SequenceFiles
from sparkdl.data.readers.sequence_file.writer import write_sequence_file
from sparkdl.data.readers.tables.dataframes import DataFrames
from sparkdl.data.readers.tables.frame_columns import Numbers, Pictures
from sparkdl.data.readers.tables.parquet import Parquet
from sparkdl.data.readers.text_files.characters import Characters
from sparkdl.data.readers.text_files.csv_files import Csv
from sparkdl.data.readers.text_files.text_sequences import TextSequences
from sparkdl.data.readers.tfrecords import TFRecords
from sparkdl.data.records.schema import Schema
from sparkdl.data.samples.digits import digits
from sparkdl.data.source import Source, Split, check_batches
from sparkdl.data.transforms import (
    ChannelSwap,
    ColorJitter,
    Compose,
    Crop,
    Grayscale,
    MeanImage,
    Mirror,
    Normalize,
    OneHot,
    Pad,
    RandomResizedCrop,
    ReshapeRecords,
    Resize,
    Rotate,
    Scale,
    Transform,
)
from sparkdl.data.writers import write_lmdb_anywhere, write_parquet, write_sequence_datums
