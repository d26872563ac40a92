"""The backend "cuda" on the host in processes that a test spawns: it comes with a transform."""

from sparkdl.engine.backends import base
from sparkdl.training.rounds.replica import kept_replica, second_replica


class OnHost:
    """A transform that changes no batch. Whoever unpickles it has the backend from then on.

    Parameters
    ----------
    module : str
        Where its BACKEND is.
    """

    def __init__(self, module="tests.support.cuda.backend"):
        self.module = module

    def __call__(self, batch):
        return batch

    def __reduce__(self):
        return here, (self.module,)


def here(module):
    if base.MODULES["cuda"] != module:
        kept_replica.cache_clear()  # what this process has is of another backend
        second_replica.cache_clear()
    base.MODULES["cuda"] = module
    return OnHost(module)
