"""ONNX nodes that look up a network's tables by ids."""

import numpy as np
from onnx import TensorProto

from sparkdl.nn.tables.embedding_bag import load_groups
from sparkdl.nn.tables.row_store import IDS
from sparkdl.nn.tables.table_group import ROWS

ML = "ai.onnx.ml"  # domain of LabelEncoder, a hash table
SPARSE = 8  # largest length of an index list per row
SHORT = 65_536  # or in any case this length


class BagWriter:
    """Adds the nodes of all bags of a network to an OnnxWriter.

    Ids are an int64 input (batch, width), weights a float input. Unknown ids have a row of zeros.
    `names` is {bag: its tensor}, `inputs` is {input: (its type, width)}.
    """

    def __init__(self, writer, conf, tables):
        self.writer, self.conf, self.rows, self.inputs = writer, conf, {}, {}
        groups = load_groups(conf, tables)
        self.arrays = {name: array for group in groups for name, array in group.state().items()}
        self.names = {bag.name: self.write(bag) for bag in conf.bags}

    def write(self, bag):
        """Returns the tensor of a bag (batch, dimension)."""
        add, ids = self.writer.add, self.conf.id_column(bag)
        self.inputs[ids] = TensorProto.INT64, bag.width
        zero = self.writer.store(np.array(0, np.int64))
        factors = add("Cast", add("GreaterOrEqual", ids, zero), to=TensorProto.FLOAT)
        if bag.weights is not None:
            self.inputs[bag.weights] = TensorProto.FLOAT, bag.width
            factors = add("Mul", factors, bag.weights)
        factors = self.normalize(factors, bag.combine)
        if bag.table_name not in self.rows:
            self.rows[bag.table_name] = self.table(bag.table_name, bag.dimension)
        rows, places = self.rows[bag.table_name]
        picked = add("Gather", rows, places(ids), axis=0)
        weighed = add("Mul", picked, add("Unsqueeze", factors, self.writer.integers(2)))
        return add("ReduceSum", weighed, self.writer.integers(1), keepdims=0)

    def normalize(self, factors, combine):
        """Returns the tensor of normalized row weights; see `bags.normalize`."""
        if combine == "sum":
            return factors
        add, axis = self.writer.add, self.writer.integers(1)
        squared = combine == "sqrtn"
        total = add("ReduceSum", add("Mul", factors, factors) if squared else factors, axis)
        total = add("Sqrt", total) if squared else total
        zero, infinity = (self.writer.store(np.float32(number)) for number in (0, np.inf))
        return add("Div", factors, add("Where", add("Equal", total, zero), infinity, total))

    def table(self, name, width):
        """Returns (tensor of the rows, function from the tensor of ids to that of row indices)."""
        ids, rows = self.arrays[f"{name}/{IDS}"], self.arrays[f"{name}/{ROWS}"].reshape(-1, width)
        known = self.writer.store(np.concatenate([rows, np.zeros((1, width), np.float32)]))
        last = int(ids.max(initial=-1))
        if last < SPARSE * len(ids) + SHORT:
            return known, self.listed(ids, last)
        return known, lambda name: self.hashed(name, ids)

    def listed(self, ids, last):
        """Returns a function that finds row indices in a list, for ids from -1 to last + 1."""
        places = np.full(last + 3, len(ids), np.int64)
        places[ids + 1] = np.arange(len(ids))
        scalars = [self.writer.store(np.array(n, np.int64)) for n in (-1, last + 1, 1)]
        places, (low, high, one) = self.writer.store(places), scalars

        def find(name):
            inside = self.writer.add("Clip", name, low, high)
            return self.writer.add("Gather", places, self.writer.add("Add", inside, one), axis=0)

        return find

    def hashed(self, name, ids):
        """Returns the tensor of row indices from a hash table."""
        self.writer.domains[ML] = 2
        known = {"keys_int64s": ids.tolist(), "values_int64s": list(range(len(ids)))}
        return self.writer.add("LabelEncoder", name, domain=ML, default_int64=len(ids), **known)
