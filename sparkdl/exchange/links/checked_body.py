"""The body of a frame that is used only once its checksum has been looked at."""

from sparkdl.exchange.connections.checksums import CHECKSUM


class CheckedBody:
    """What a frame is for, `goal`, where a checksum comes behind the body."""

    def __init__(self, link, goal):
        self.view, self._link, self._goal = goal.view, link, goal

    def complete(self):
        """Returns what the checksum is read to."""
        return BodyChecksum(self._link, self._goal, self.view)


class BodyChecksum:
    """The checksum behind a body; the goal has the body once it is found right."""

    def __init__(self, link, goal, body):
        self.view, self._link = memoryview(bytearray(CHECKSUM)), link
        self._goal, self._body = goal, body

    def complete(self):
        self._link.check(self._body, self.view)
        self._goal.complete()
