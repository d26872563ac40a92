"""What ends when a process goes on to tests of another lane: services that hold much memory."""

import sys
from contextlib import ExitStack, contextmanager

from tests.support.lanes import FIRST, lane, path_of

_services = ExitStack()


@contextmanager
def until_lane_ends(service):
    """Enters a context manager, which ends with the block or, before it, with the lane."""
    with ExitStack() as stack:
        value = stack.enter_context(service)
        _services.callback(stack.close)
        yield value


def end_lane(item, following):
    """Ends the services of a lane where `following`, the test after `item`, is of another."""
    own = lane(path_of(item))
    if own in FIRST and following is not None and lane(path_of(following)) != own:
        _services.close()
        end_jvm()


def end_jvm():
    """Ends the JVM of a Spark that has been stopped in this process."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    gateway = context and context._gateway
    if gateway:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        context._gateway = context._jvm = None
