"""Where the servers of a store are: all that a store needs to know of a group."""

from dataclasses import dataclass
from typing import Any

DRIVER = -1  # in place of a rank: a server that is no worker


@dataclass(frozen=True)
class Places:
    """A worker's own place, and the addresses of servers.

    Parameters
    ----------
    endpoint : Endpoint
        Of this process.
    rank, size : int
        Of this worker, and number of workers.
    addresses : {rank: (ip, port)}
        Of the endpoints of all servers; DRIVER for one that is no worker.
    """

    endpoint: Any
    rank: int
    size: int
    addresses: dict

    @property
    def servers(self):
        """Ranks that may hold keys, in order."""
        return sorted(self.addresses)
