"""Text generation by a trained character model."""

from typing import Any

import numpy as np

from sparkdl.config import is_integer
from sparkdl.data.readers.text_files.characters import Characters
from sparkdl.errors import ConfigError


def generate(
    network: Any,
    characters: Characters,
    start: str,
    length: int = 200,
    temperature: float = 1.0,
    seed: int = 0,
) -> str:
    """Generates `length` characters after `start`, each drawn from the network's prediction.

    Parameters
    ----------
    network : Network
        Network from one-hot characters to the probabilities of the next one, with recurrent layers
        that carry state.
    characters : Characters
    start : str
        Prompt that the network reads first, at least one character.
    length : int
    temperature : float
        Above 0. Probabilities are p^(1 / temperature), normalized to a sum of 1: values below 1
        make the text more predictable, values above 1 more varied.
    seed : int
        The same seed gives the same text.

    Returns
    -------
    str, without `start`

    Raises
    ------
    ConfigError for options out of range, DataError for a character that is not known.
    """
    if not start:
        raise ConfigError("generate needs a start of at least one character, got ''")
    if not is_integer(length, 0):
        raise ConfigError(f"generate needs an integer length >= 0, got {length!r}")
    if not temperature > 0:
        raise ConfigError(f"generate needs a temperature above 0, got {temperature!r}")
    vectors, rng = np.eye(len(characters), dtype=np.float32), np.random.default_rng(seed)
    network.rnn_clear_previous_state()
    p = network.rnn_time_step(vectors[characters.encode(start)][None])[0, -1]
    codes = []
    for _ in range(length):
        codes.append(rng.choice(len(p), p=apply_temperature(p, temperature)))
        p = network.rnn_time_step(vectors[codes[-1]][None])[0]
    network.rnn_clear_previous_state()
    return characters.decode(codes)


def apply_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Returns p^(1 / temperature) in float64, normalized to a sum of 1."""
    logs = np.log(np.maximum(probabilities.astype(np.float64), 1e-300)) / temperature
    raised = np.exp(logs - logs.max())
    return raised / raised.sum()
