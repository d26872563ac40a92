"""What ends when a process goes on to tests of another lane: services that hold much memory."""

from contextlib import ExitStack, contextmanager

from tests.support.jvm_end import end_jvm
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
