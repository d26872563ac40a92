"""Seeding of Keras's random numbers that preserves the user's random state."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from sparkdl.interop.keras.live.load import load_keras
from sparkdl.interop.live.random_state import keeping_states


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seeds all random numbers in its block, like keras.utils.set_random_seed.

    Afterwards the states of Python, numpy, the backend and Keras are restored.
    """
    keras = load_keras()
    with keeping_states(), ExitStack() as behind:
        for give_back in (*_states(), _tensorflow_state()):
            behind.callback(give_back)
        keras.utils.set_random_seed(seed % 2**32)
        yield


@contextmanager
def seeded_generator(seed: int) -> Iterator[None]:
    """Seeds random numbers without an explicit seed, such as keras.random.normal(shape).

    The user's generator, which they would otherwise use, is not affected.
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
    """Returns functions that restore the current states of Keras and torch."""
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
    """Returns a function that restores TensorFlow's seed, which Keras sets on any backend."""
    names = "_seed", "_rng"  # TensorFlow cannot report or unset its seed
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
