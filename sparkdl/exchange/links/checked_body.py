"""Body of a frame that is delivered only after its checksum has been verified."""

from sparkdl.exchange.connections.checksums import CHECKSUM


class CheckedBody:
    """Receives a frame's body for `goal`, ahead of the checksum that follows it."""

    def __init__(self, link, goal):
        self.view, self._link, self._goal = goal.view, link, goal

    def complete(self):
        """Returns the object that receives the checksum."""
        return BodyChecksum(self._link, self._goal, self.view)


class BodyChecksum:
    """Receives the checksum that follows a body; passes the body to the goal if it is correct."""

    def __init__(self, link, goal, body):
        self.view, self._link = memoryview(bytearray(CHECKSUM)), link
        self._goal, self._body = goal, body

    def complete(self):
        self._link.check(self._body, self.view)
        self._goal.complete()
