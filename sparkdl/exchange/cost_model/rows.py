"""Cost model of embedding tables whose touched rows and gradients travel between workers."""

from dataclasses import dataclass

from sparkdl.exchange.cost_model.model import Cluster, Exchange

KEY, NUMBER = 10, 4  # bytes: row id with table number; float32
ROW = 1e-7  # core seconds to look up a row, sum its gradients and update it; from `bench tables`


@dataclass(frozen=True, kw_only=True)
class RowsModel:
    """The rows of all tables that a worker's minibatch touches.

    Parameters
    ----------
    rows : float
    numbers : float
        Total numbers in these rows.
    """

    rows: float
    numbers: float

    @property
    def gradient(self) -> float:
        """Bytes of the rows' keys and gradients."""
        return KEY * self.rows + NUMBER * self.numbers

    def whole(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange in which all workers get all gradients and update all these rows."""
        moved = cluster.workers * self.rows
        return cluster.all_gather(cluster.workers * self.gradient) + work(cluster, moved)

    def sharded(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange that sends gradients to the rows' owners and reports changed rows.

        Assumes that hashing spreads keys evenly, that workers touch different rows, and that no
        prefetched row has changed; such rows would travel again in the last message.
        """
        total = work(cluster, 2 * self.rows)
        return total + cluster.all_to_all(self.gradient) + cluster.all_to_all(0)

    def fetch(self, cluster: Cluster) -> Exchange:
        """Returns the Exchange that prefetches the rows of the next minibatch from their owners."""
        return cluster.all_to_all(KEY * self.rows) + cluster.all_to_all(NUMBER * self.numbers)


def work(cluster, rows):
    return Exchange(seconds=rows * ROW * cluster.crowd, sent=0.0)
