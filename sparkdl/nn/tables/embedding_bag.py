"""A network input computed from the rows of a table."""

from sparkdl.config import Choice, Config, Integer, Number, Of, Size, Text, dataclass, option
from sparkdl.config.field_types import OptionalAnyOf
from sparkdl.errors import ConfigError
from sparkdl.nn.optimizers import Optimizer
from sparkdl.nn.tables.row_filter import name_of_counts
from sparkdl.nn.tables.table_group import TableGroup, check_optimizer

COMBINE = ("sum", "mean", "sqrtn")
UPDATES = Integer(minimum=1, limit=2**31 - 1)  # counts are int32
OF_TABLE = "dimension", "scale", "min_updates", "expire_after"  # of the table, with its optimizer


@dataclass(frozen=True, kw_only=True)
class EmbeddingBag(Config):
    """An embedding bag, an input of a GraphConf: table rows of an example's ids, combined to one.

    The table is not part of the parameter vector. It has a row for each id that was trained, from 0
    to 2^63 - 1, and a step costs only as much as the rows of its batch. Its optimizer updates only
    these rows; the network's l1, l2, clipping, constraints and dtype do not apply to it.

    Shapes
    ------
    ids (batch, width) integers, -1 for none; weights (batch, width); the input (batch, dimension)

    References
    ----------
    tf.nn.embedding_lookup_sparse; torch.nn.EmbeddingBag with sparse=True.
    """

    name: str = option(Text(), "Name of the input, which vertices read.")
    dimension: int = option(Size(minimum=1), "Numbers of a row.")
    width: int = option(
        Size(minimum=1), "Ids per example; fill shorter bags up with -1.", default=1
    )
    combine: str = option(
        Choice(of=COMBINE),
        'How rows r with weights w are combined. "sum": sum(w r); "mean": sum(w r) / sum(w); '
        '"sqrtn": sum(w r) / sqrt(sum(w^2)). Without ids, or with a divisor of 0, the result is '
        "0.",
        default="sum",
    )
    table: str | None = option(
        Text(),
        "Name of the table; bags that give the same name share it. None: `name`.",
        default=None,
    )
    column: str | None = option(
        Text(),
        "Column of the data with the ids; several bags may read one. None: `name`, or "
        '"features" where the bag is the only input. There "features" also goes first.',
        default=None,
    )
    weights: str | None = option(
        Text(),
        'Column of the data with a weight for each id; not "weights", which has those of '
        "records. None: all are 1.",
        default=None,
    )
    optimizer: OptionalAnyOf[Optimizer] = option(
        Of(family=Optimizer), "Optimizer of the rows. None: the network's.", default=None
    )
    scale: float = option(
        Number(minimum=0), "Initial rows are uniform in [-scale, scale).", default=0.05
    )
    min_updates: int = option(
        UPDATES,
        "A row is stored from the n-th update on whose batch has its id, where this is n; until "
        "then it has its initial value and takes only the memory of a counter.",
        default=1,
    )
    expire_after: int | None = option(
        UPDATES,
        "Updates after which unused rows expire: each time so many have passed, rows whose ids "
        "occurred in none of them are removed. None: rows stay.",
        default=None,
    )

    @property
    def table_name(self) -> str:
        """The name of its table."""
        return self.table or self.name


def optimizers_of_tables(bags, default):
    """Returns {table: its optimizer} in the order in which bags first name the tables."""
    return {bag.table_name: bag.optimizer or default for bag in bags}


def check_bags(bags, default):
    """Raises ConfigError if bags of one table or one column have different options."""
    tables, widths = {}, {}
    for bag in bags:
        check_optimizer(bag.optimizer or default)
        own = {name: getattr(bag, name) for name in (*OF_TABLE, "optimizer")}
        first = tables.setdefault(bag.table_name, own)
        for name, value in own.items():
            if value != first[name]:
                raise ConfigError(
                    f"EmbeddingBag.{name} must be the same for all bags of table "
                    f"{bag.table_name!r}, got {first[name]!r} and {value!r}; name another table"
                )
        column = bag.column or bag.name
        if widths.setdefault(column, bag.width) != bag.width:
            raise ConfigError(
                f"EmbeddingBag.width must be the same for all bags of column {column!r}, got "
                f"{widths[column]} and {bag.width}"
            )
    for table, own in tables.items():
        counts = name_of_counts(table)
        if own["min_updates"] > 1 and counts in tables:
            raise ConfigError(
                f"EmbeddingBag.table must be another than {counts!r}, the name of the counts of "
                f"table {table!r}; rename one"
            )


def groups_of(conf, kind=TableGroup):
    """Returns empty groups of type `kind`, in which tables with equal options share one group."""
    optimizers, bags = optimizers_of_tables(conf.bags, conf.optimizer), {}
    for bag in conf.bags:
        bags.setdefault(bag.table_name, bag)
    names = []  # [((optimizer, options), names of tables)]
    for table, bag in bags.items():
        options = optimizers[table], {name: getattr(bag, name) for name in OF_TABLE}
        same = [own for known, own in names if known == options]
        if same:
            same[0].append(table)
        else:
            names.append((options, [table]))
    return [
        kind(own, optimizer=optimizer, seed=conf.seed, **options)
        for (optimizer, options), own in names
    ]


def load_groups(conf, arrays, kind=TableGroup):
    """Returns the groups of `groups_of` with rows loaded from {"table/array": vector}.

    Instead of such a dict, `arrays` may be what a `kind` like ShardReaders loads.

    Raises
    ------
    ConfigError
        For a table that the network does not have.
    ShapeError
        For arrays that do not fit a table; see TableGroup.load.
    """
    groups = groups_of(conf, kind)
    check_names(groups, arrays)
    for group in groups:
        group.load(arrays)
    return groups


def begin_tables(conf, arrays, other):
    """Returns the initial {"table/array": vector} of a network that starts with another's rows.

    Parameters
    ----------
    conf, arrays : NetworkConf or GraphConf, {"table/array": vector}
        Those of the network that trained the rows.
    other : NetworkConf or GraphConf
        The network that starts with them; tables that only one of the networks has are omitted.

    Raises
    ------
    ConfigError
        If a table has rows of another dimension in the two networks.
    """
    trained, begun = {bag.table_name: bag.dimension for bag in conf.bags}, {}
    for group in groups_of(other):
        common = [table for table in group.names if table in trained]
        for table in common:
            if trained[table] != group.dimension:
                raise ConfigError(
                    f"EmbeddingBag.dimension must be {trained[table]} for table {table!r}, as its "
                    f"rows were trained with, got {group.dimension}; name another table"
                )
        known = {name: of for name, of in arrays.items() if name.rpartition("/")[0] in common}
        begun |= group.begin(known)
    return begun


def check_names(groups, arrays):
    """Raises ConfigError for names, in a dict or list of dicts, of tables outside the groups."""
    if isinstance(arrays, list):
        for part in arrays:
            check_names(groups, part)
        return
    known = [name for group in groups for name in group.state_names]
    for key in arrays:
        table = key.rpartition("/")[0]
        if table not in known:
            raise unknown_table(table, known)


def unknown_table(table, known):
    """Returns the error for arrays, or counts, of a table that a network does not have."""
    counted = [name for name in known if name_of_counts(name) == table]
    if counted:
        return ConfigError(
            f"EmbeddingBag.min_updates must be at least 2 for table {counted[0]!r}, whose updates "
            "were counted in training, got 1; give the min_updates that it was trained with"
        )
    return ConfigError(f"a table must be one of {known}, got {table!r}")
