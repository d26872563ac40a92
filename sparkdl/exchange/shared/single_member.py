"""Lane of a rank that is alone on its machine, which has nothing to do."""


class SingleMember:
    """A Lane with one member."""

    def barrier(self):
        """Waits for nobody."""

    def reduce_scatter(self, x, bounds, op="sum"):
        """Leaves x, which is its own sum."""

    def all_gather(self, x, bounds):
        """Leaves x, which is complete."""

    def all_gather_bytes(self, data):
        """Returns [bytes of each member]."""
        return [data]
