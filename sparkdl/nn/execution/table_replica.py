"""A replica whose network reads tables: their rows are inputs of its programs."""

from dataclasses import replace

import numpy as np

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn.execution.one_at_a_time import one_at_a_time
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.columns import features_batch
from sparkdl.nn.tables.bags import Bags, make_bag, unite
from sparkdl.nn.tables.embedding_bag import load_groups
from sparkdl.nn.tables.table_group import TableGroup


class TableReplica(Replica):
    """A Replica with tables, whose TableGroups are in `groups` from the first `load_tables` on.

    A batch has ids where programs take bags: the replica looks up the rows, feeds the bags to the
    programs, and turns the bags' gradients into gradients of rows. `row_gradients` has the
    RowGradients of each group from `gradient` to `apply`, so that code in between may replace them.
    `pull`, unless None, is called with [RowKeys of each group] before the rows of a batch are read.
    """

    decodes = ()

    def __init__(self, conf, backend="auto", strict=False):
        if backend == "cuda":
            raise ConfigError(
                'TrainingMaster.device must be "cpu" for a network with bags, got "cuda"; tables '
                "lie in the memory of the processor"
            )
        super().__init__(conf, backend, strict)
        self.groups, self._loaded, self.row_gradients, self.pull = None, None, None, None
        self._columns = conf.bag_columns
        self._ids = {bag.name: conf.id_column(bag) for bag in conf.bags}

    def load_tables(self, arrays, kind=TableGroup):
        """Loads {"table/array": vector} into groups of type `kind`; none if they have no rows."""
        if self._loaded is not None and self._loaded is arrays:
            return
        self.groups, names = load_groups(self.conf, arrays, kind), [*self.conf.tables]
        self._loaded, self.row_gradients = arrays, None
        self._bags = [[b for b in self.conf.bags if b.table_name in g.names] for g in self.groups]
        self._fields = [
            [(self._ids[b.name], g.names.index(b.table_name)) for b in own]
            for g, own in zip(self.groups, self._bags, strict=True)
        ]
        self._rates = [names.index(group.names[0]) for group in self.groups]

    def table_arrays(self):
        """Returns {"table/array": vector}, copies; see TableGroup.state."""
        return {name: array for group in self._known() for name, array in group.state().items()}

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; also sets `row_gradients`."""
        batch, found = self._with_bags(batch)
        program, columns = self._program_and_feeds(batch, epoch, states)
        outputs = program.run(columns, self._hooks(program, after))
        slopes = {name: outputs[f"grad:{column}"] for name, column in self._columns.items()}
        self.row_gradients = [
            bags.spread([slopes[bag.name] for bag in own])
            for bags, own in zip(found, self._bags, strict=True)
        ]
        return program.number("loss"), len(batch)

    def apply(self, rate, t):
        """Updates `params` and `slots` with `grad`, and tables with `row_gradients`."""
        own = len(self.conf.groups)
        super().apply(rate[0] if own == 1 else rate[:own], t)
        if self.row_gradients is not None:
            for group, place, rows in zip(
                self.groups, self._rates, self.row_gradients, strict=True
            ):
                group.update(*rows, rate[own + place], t)
        self._loaded, self.row_gradients = None, None

    def step(self, batch, rate, t, epoch=0, states=None):
        """See Replica.step."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    @one_at_a_time
    def forward(self, features, outputs=(), states=None, size=None):
        """See Replica.forward."""
        batch = features if hasattr(features, "columns") else features_batch(features)
        return super().forward(self._with_bags(batch)[0], outputs, states, size)

    @one_at_a_time
    def losses_by_output(self, batch, outputs):
        """See Replica.losses_by_output."""
        return super().losses_by_output(self._with_bags(batch)[0], outputs)

    @one_at_a_time
    def output_mask(self, batch, output=None):
        """See Replica.output_mask."""
        return super().output_mask(self._with_bags(batch)[0], output)

    def keys_of(self, batches):
        """Returns [distinct RowKeys of each group] of the rows that batches read."""
        found = [self._look_up(batch) for batch in batches]
        return [unite([bags[i].keys for bags in found]) for i in range(len(self._known()))]

    def _with_bags(self, batch):
        """Returns the batch with bags instead of ids, and [Bags of each group]."""
        found, pooled = self._look_up(batch), {}
        if self.pull is not None:
            self.pull([bags.keys for bags in found])
        for group, own, bags in zip(self.groups, self._bags, found, strict=True):
            columns = bags.pool(group.read(bags.keys))
            pooled |= {self._columns[b.name]: c for b, c in zip(own, columns, strict=True)}
        return with_columns(batch, pooled), found

    def _look_up(self, batch):
        """Returns [Bags of each group] of a batch."""
        self._known()
        found = []
        for own, fields in zip(self._bags, self._fields, strict=True):
            parts = [
                make_bag(
                    column_of(batch, column), bag.combine, column_of(batch, bag.weights), table
                )
                for bag, (column, table) in zip(own, fields, strict=True)
            ]
            earlier = self._fields.index(fields)  # an earlier group, or this one, with the same ids
            found.append(
                found[earlier]._replace(parts=parts) if earlier < len(found) else Bags.of(parts)
            )
        return found

    def _known(self):
        if self.groups is None:
            raise ConfigError(
                "a network with bags needs its tables, got none loaded; only Network and "
                "AllReduceSGD load them so far"
            )
        return self.groups


def column_of(batch, name):
    """Returns a column (n, width) of a batch, or None if `name` is None."""
    if name is None:
        return None
    if name not in batch.columns:
        raise DataError(f"the network takes the column {name!r}, got {[*batch.columns]}")
    column = np.asarray(batch.columns[name])
    return column.reshape(len(column), -1)


def with_columns(batch, columns):
    """Returns a batch with columns replaced or added."""
    if hasattr(batch, "ids"):
        return replace(batch, columns={**batch.columns, **columns})
    return type(batch)(columns={**batch.columns, **columns})
