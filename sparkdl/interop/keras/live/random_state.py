"""Random numbers of Keras that follow from a seed, and leave those of the user as they were."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.live.random_state import keeping_states


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Has all random numbers of its block follow from `seed`, as keras.utils.set_random_seed does.

    Behind it Python's, numpy's, the backend's and Keras's go on as if there had been no block.
    """
    keras = load_keras()
    with keeping_states(), ExitStack() as behind:
        for give_back in (*_states(), _tensorflow_state()):
            behind.callback(give_back)
        keras.utils.set_random_seed(seed % 2**32)
        yield


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Has random numbers without a seed of their own, keras.random.normal(shape), follow from one.

    The user's generator, from which they would come, stays as it was.
    """
    from keras.src.backend.common import global_state
    from keras.src.random.seed_generator import GLOBAL_SEED_GENERATOR

    before = global_state.get_global_attribute(GLOBAL_SEED_GENERATOR)
    own = load_keras().random.SeedGenerator(seed % 2**31, name="of_batch")
    global_state.set_global_attribute(GLOBAL_SEED_GENERATOR, own)
    try:
        yield
    finally:
        global_state.set_global_attribute(GLOBAL_SEED_GENERATOR, before)


def _states() -> list[Callable[[], Any]]:
    """Returns functions that give back the states of now: Keras's, torch's."""
    from keras.src.backend.common import global_state
    from keras.src.random.seed_generator import GLOBAL_SEED_GENERATOR
    from keras.src.utils.rng_utils import GLOBAL_RANDOM_SEED

    found: list[Callable[[], Any]] = []
    for name in (GLOBAL_RANDOM_SEED, GLOBAL_SEED_GENERATOR):
        value = global_state.get_global_attribute(name)
        found.append(partial(global_state.set_global_attribute, name, value))
    return found + _torch_states()


def _torch_states() -> list[Callable[[], Any]]:
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    cpu, devices = torch.get_rng_state(), []
    if torch.cuda.is_initialized():
        devices = torch.cuda.get_rng_state_all()
    return [
        lambda: torch.set_rng_state(cpu),
        lambda: devices and torch.cuda.set_rng_state_all(devices),
    ]


def _tensorflow_state() -> Callable[[], Any]:
    """Returns a function that gives back TensorFlow's seed; Keras sets it on other backends too."""
    names = "_seed", "_rng"  # it has no way to ask, nor to say that there is none
    before = {}
    if "tensorflow" in sys.modules:
        before = {name: value for name, value in vars(_context()).items() if name in names}

    def give_back():
        if "tensorflow" in sys.modules:
            for name in names:
                setattr(_context(), name, before.get(name))

    return give_back


def _context() -> Any:
    from tensorflow.python.eager import context

    return context.context()
