"""Data: readers turn storage into Batches; with schemas, transforms and prefetching."""

from sparkdl.data import files
from sparkdl.data.batch import Batch, position, record_ids
from sparkdl.data.blocks import blocks, permutation
from sparkdl.data.characters import Characters
from sparkdl.data.digits import digits
from sparkdl.data.prefetch import prefetch
from sparkdl.data.readers.arrays import Arrays
from sparkdl.data.readers.avro_files import AvroFiles
from sparkdl.data.readers.csv import Csv
from sparkdl.data.readers.dataframes import DataFrames
from sparkdl.data.readers.digits import Digits
from sparkdl.data.readers.fixed import Cifar, Idx
from sparkdl.data.readers.frame_columns import Numbers, Pictures
from sparkdl.data.readers.hdf5 import HDF5
from sparkdl.data.readers.images import Images
from sparkdl.data.readers.lmdb import LMDB
from sparkdl.data.readers.lmdb_writer import write_lmdb
from sparkdl.data.readers.parquet import Parquet
from sparkdl.data.readers.sequence_files import SequenceFiles
from sparkdl.data.readers.sequence_writer import write_sequence_file
from sparkdl.data.readers.text import TextSequences
from sparkdl.data.readers.tfrecords import TFRecords
from sparkdl.data.schema import Schema
from sparkdl.data.sequences import pad
from sparkdl.data.source import Source, Split, checked_batches
from sparkdl.data.transforms import (
    ChannelSwap,
    ColourJitter,
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
