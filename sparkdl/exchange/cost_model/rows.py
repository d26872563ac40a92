"""Cost model of tables: rows that minibatches touch, and their gradients, between workers."""

from dataclasses import dataclass

from sparkdl.exchange.cost_model.model import Cluster, Exchange

KEY, NUMBER = 10, 4  # bytes: an id and the number of its table; float32
ROW = 1e-7  # seconds of a core to find a row, add up its gradients and move it; `bench tables`


@dataclass(frozen=True, kw_only=True)
class RowsModel:
    """Rows that a worker's minibatch touches, of all tables.

    Parameters
    ----------
    rows : float
    numbers : float
        Of all these rows together.
    """

    rows: float
    numbers: float

    @property
    def gradient(self) -> float:
        """Bytes of the keys and gradients of the rows."""
        return KEY * self.rows + NUMBER * self.numbers

    def whole(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange in which all workers get all gradients, and move all these rows."""
        moved = cluster.workers * self.rows
        return cluster.all_gather(cluster.workers * self.gradient) + work(cluster, moved)

    def sharded(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange in which owners get gradients, and say which rows have changed.

        Keys are spread evenly by their hash; rows that several workers touch are not counted once.
        None that was fetched ahead has changed: such rows travel again, in the last message.
        """
        total = work(cluster, 2 * self.rows)
        return total + cluster.all_to_all(self.gradient) + cluster.all_to_all(0)

    def fetch(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange in which owners give the rows of the next minibatch, ahead of it."""
        return cluster.all_to_all(KEY * self.rows) + cluster.all_to_all(NUMBER * self.numbers)


def work(cluster, rows):
    return Exchange(seconds=rows * ROW * cluster.crowd, sent=0.0)
