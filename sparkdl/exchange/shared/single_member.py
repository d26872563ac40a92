"""Lane of a rank that is alone on its machine; its collectives do nothing."""


class SingleMember:
    """A Lane with one member."""

    def barrier(self):
        """Returns at once."""

    def reduce_scatter(self, x, bounds, op="sum"):
        """Leaves x unchanged: it is the sum."""

    def all_gather(self, x, bounds, bytes_of=""):
        """Leaves x unchanged: it is complete."""

    def all_gather_bytes(self, data):
        """Returns [bytes of each member]."""
        return [data]
