"""A replica whose network reads tables: their rows are inputs of its programs."""

from dataclasses import replace

import numpy as np

from sparkdl.errors import ConfigError, DataError
from sparkdl.nn.execution.replica import Replica
from sparkdl.nn.inputs.columns import features_batch
from sparkdl.nn.tables.bags import bags_of, merge, unite
from sparkdl.nn.tables.embedding_bag import load_tables
from sparkdl.nn.tables.row_table import RowTable


class TableReplica(Replica):
    """See Replica. `tables` are {name: RowTable}, from the first `load_tables` on.

    A batch has ids where programs take bags: the replica looks the rows up, gives the programs the
    bags, and turns the bags' gradients into those of the rows. `row_gradients` holds them from
    `gradient` to `apply`, {table: RowGradients}; what lies between may replace them. `pull`, unless
    it is None, gets {table: ids} before the rows of a batch are read.
    """

    decodes = ()

    def __init__(self, conf, backend="auto", strict=False):
        if backend == "cuda":
            raise ConfigError(
                'TrainingMaster.device must be "cpu" for a network with bags, got "cuda"; tables '
                "lie in the memory of the processor"
            )
        super().__init__(conf, backend, strict)
        self.tables, self._loaded, self.row_gradients, self.pull = None, None, {}, None

    def load_tables(self, arrays, kind=RowTable):
        """Takes over {"table/array": vector}, as a `kind` of tables; none if they have no rows."""
        if self._loaded is not None and self._loaded is arrays:
            return
        self.tables = load_tables(self.conf, arrays, kind)
        self._loaded, self.row_gradients = arrays, {}

    def table_arrays(self):
        """Returns {"table/array": vector}, copies; see RowTable.state."""
        return {
            f"{table}/{name}": array
            for table, rows in self._known_tables().items()
            for name, array in rows.state().items()
        }

    def gradient(self, batch, epoch=0, after=None, states=None, queued=None):
        """See Replica.gradient; `row_gradients` are those of this batch then."""
        batch, bags = self._with_bags(batch)
        program, columns = self._program_and_feeds(batch, epoch, states)
        outputs = program.run(columns, self._hooks(program, after))
        self.row_gradients = self._row_gradients(bags, outputs)
        return program.number("loss"), len(batch)

    def _row_gradients(self, bags, outputs):
        """Returns {table: RowGradients} of a batch; bags of one table are summed."""
        parts = {}
        for bag in self.conf.bags:
            slopes = outputs[f"grad:{self.conf.bag_columns[bag.name]}"]
            parts.setdefault(bag.table_name, []).append(bags[bag.name].spread(slopes))
        return {table: merge(several) for table, several in parts.items()}

    def apply(self, rate, t):
        """Updates `params` and `slots` with `grad`, and tables with `row_gradients`, once."""
        own = len(self.conf.groups)
        super().apply(rate[0] if own == 1 else rate[:own], t)
        for (name, table), table_rate in zip(self.tables.items(), rate[own:], strict=True):
            if name in self.row_gradients:
                table.update(*self.row_gradients[name], table_rate, t)
        self._loaded, self.row_gradients = None, {}

    def step(self, batch, rate, t, epoch=0, states=None):
        """See Replica.step."""
        loss, _ = self.gradient(batch, epoch)
        self.apply(rate, t)
        return loss

    def forward(self, features, outputs=(), states=None, size=None):
        """See Replica.forward."""
        batch = features if hasattr(features, "columns") else features_batch(features)
        return super().forward(self._with_bags(batch)[0], outputs, states, size)

    def losses(self, batch):
        """See Replica.losses."""
        return super().losses(self._with_bags(batch)[0])

    def _with_bags(self, batch):
        """Returns the batch with bags in place of ids, and {name of a bag: Bags}."""
        conf, tables, bags, pooled = self.conf, self._known_tables(), self._bags(batch), {}
        if self.pull is not None:
            self.pull(self._ids(bags))
        for bag in conf.bags:
            rows = tables[bag.table_name].read(bags[bag.name].ids)
            pooled[conf.bag_columns[bag.name]] = bags[bag.name].pool(rows)
        return with_columns(batch, pooled), bags

    def ids_of(self, batch):
        """Returns {table: ids (n,), rising, each once} whose rows a batch reads."""
        return self._ids(self._bags(batch))

    def _ids(self, bags):
        return unite([{bag.table_name: bags[bag.name].ids} for bag in self.conf.bags])

    def _bags(self, batch):
        """Returns {name of a bag: Bags} of a batch."""
        conf, bags = self.conf, {}
        for bag in conf.bags:
            ids, weights = (column_of(batch, name) for name in (conf.id_column(bag), bag.weights))
            bags[bag.name] = bags_of(ids, bag.combine, weights)
        return bags

    def _known_tables(self):
        if self.tables is None:
            raise ConfigError(
                "a network with bags needs its tables, got none loaded; Network and AllReduceSGD "
                "load them, what else uses networks does not know tables yet"
            )
        return self.tables


def column_of(batch, name):
    """Returns a column (n, width) of a batch, None where there is no name."""
    if name is None:
        return None
    if name not in batch.columns:
        raise DataError(f"the network takes the column {name!r}, got {[*batch.columns]}")
    column = np.asarray(batch.columns[name])
    return column.reshape(len(column), -1)


def with_columns(batch, columns):
    """Returns a batch with other columns, or more."""
    if hasattr(batch, "ids"):
        return replace(batch, columns={**batch.columns, **columns})
    return type(batch)(columns={**batch.columns, **columns})
