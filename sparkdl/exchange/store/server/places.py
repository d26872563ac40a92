"""Addresses of a store's servers, all that a store needs to know of a group."""

import json
from dataclasses import dataclass
from typing import Any

from sparkdl.exchange.connections.endpoint import Endpoint

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
    owned : bool
        Whether the endpoint is closed with the store.
    """

    endpoint: Any
    rank: int
    size: int
    addresses: dict
    owned: bool = False

    @classmethod
    def of(cls, group, secret, *, timeout=60.0, **options):
        """Returns the places of all ranks of a Group, which all call this.

        Each opens an Endpoint.

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
