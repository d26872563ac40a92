"""Lane of a rank that is alone on its machine, which has nothing to do."""


class SingleMember:
    """A Lane with one member."""

    def barrier(self):
        """Nobody to wait for."""

    def reduce_scatter(self, x, bounds, op="sum"):
        """x is its own sum."""

    def all_gather(self, x, bounds):
        """x is complete."""

    def all_gather_bytes(self, data):
        """[bytes of each member]."""
        return [data]
