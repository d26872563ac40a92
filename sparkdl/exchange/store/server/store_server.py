"""Server of a store at an endpoint, in a worker or on a driver."""

from sparkdl.errors import PeerError
from sparkdl.exchange.store.server.options import StoreOptions
from sparkdl.exchange.store.server.places import DRIVER
from sparkdl.exchange.store.server.service import Service
from sparkdl.exchange.store.server.shard import Shard

GRACE = 1.0  # seconds for telling workers why the store ends


class StoreServer:
    """Holds keys, and serves them to workers that know the endpoint's address.

    Workers create a KeyValueStore from Places(endpoint, rank, size, {DRIVER: address}).

    Parameters
    ----------
    endpoint : Endpoint
    size : int
        Number of workers.
    rank : int
        Rank of this process; DRIVER if it is no worker.
    channel : str
        Name of the store.
    options : StoreOptions
        The same as the workers'.
    """

    def __init__(self, endpoint, size, rank=DRIVER, *, channel="store", options=None):
        options = options or StoreOptions()
        self._host, self._rank = endpoint.address[0], None if rank == DRIVER else rank
        self.shard = Shard(options, size, self._host, self._rank)
        self.service = Service(self.shard)
        endpoint.serve(channel, self.service.attend)

    def set_optimizer(self, update, with_context=False):
        """Sets the update before workers push; see KeyValueStore.set_optimizer."""
        self.shard.set_optimizer(update, with_context)

    def set_compression(self, codec):
        """Sets the codec before workers push; see KeyValueStore.set_compression."""
        self.shard.codec = codec

    def statistics(self):
        """Returns this server's counts; see KeyValueStore.statistics."""
        return self.shard.tally.to_dict()

    def wait(self):
        """Waits until all workers have left.

        Raises
        ------
        PeerError
            If a worker is lost, or not all have left within `stall_timeout`.
        """
        self.service.wait()

    @property
    def failure(self):
        """The PeerError that ended the store, or None."""
        return self.shard.roster.failure

    def close(self):
        """Ends all waits here. The endpoint stays open."""
        if self.failure:
            self.service.wait_told(GRACE)
        self.shard.close(PeerError(self._rank, self._host, "has closed the store"))
