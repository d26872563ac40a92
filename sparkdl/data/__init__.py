"""Storage to Batches: readers, their records' schema, transforms, prefetching."""

from sparkdl.data import files
from sparkdl.data.batch import Batch, position, record_ids
from sparkdl.data.blocks import blocks, permutation
from sparkdl.data.digits import digits
from sparkdl.data.schema import Schema
