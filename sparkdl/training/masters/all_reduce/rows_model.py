"""The cost model's description of a network that reads tables."""

from sparkdl.exchange.cost_model.rows import RowsModel


def rows_model(conf, batch_size):
    """Returns the RowsModel of a minibatch in the worst case, in which no id occurs twice."""
    fields = {(bag.table_name, conf.id_column(bag)): bag for bag in conf.bags}.values()
    return RowsModel(
        rows=float(batch_size * sum(bag.width for bag in fields)),
        numbers=float(batch_size * sum(bag.width * bag.dimension for bag in fields)),
    )
