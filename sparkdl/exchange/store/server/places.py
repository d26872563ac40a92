"""Addresses of a store's servers: all that a store needs to know about a group."""

import json
from dataclasses import dataclass
from typing import Any

from sparkdl.exchange.connections.endpoint import Endpoint

DRIVER = -1  # in place of a rank: a server that is no worker


@dataclass(frozen=True)
class Places:
    """A worker's rank and endpoint, and the addresses of the servers.

    Parameters
    ----------
    endpoint : Endpoint
        Endpoint of this process.
    rank, size : int
        Rank of this worker, and number of workers.
    addresses : {rank: (ip, port)}
        Endpoints of all servers; the key is DRIVER for a server that is no worker.
    owned : bool
        Whether closing the store closes the endpoint.
    """

    endpoint: Any
    rank: int
    size: int
    addresses: dict
    owned: bool = False

    @classmethod
    def of(cls, group, secret, *, timeout=60.0, **options):
        """Opens an Endpoint on each rank of a Group, and returns the Places.

        All ranks must call it.

        Parameters
        ----------
        group : Group
        secret : bytes
            Of the job.
        timeout, options
            As Endpoint takes them.
        """
        endpoint = Endpoint(secret, timeout=timeout, **options)
        try:
            gathered = group.all_gather_bytes(json.dumps(endpoint.address).encode())
        except BaseException:
            endpoint.close()
            raise
        addresses = {rank: tuple(json.loads(bytes(text))) for rank, text in enumerate(gathered)}
        return cls(endpoint, group.rank, group.size, addresses, owned=True)
