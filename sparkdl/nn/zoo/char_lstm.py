"""A character model that predicts the next character of a text."""

from typing import Any

from sparkdl.nn.layers import LSTM, RnnOutput
from sparkdl.nn.networks.sequential import NetworkConf
from sparkdl.nn.zoo.arguments import check_arguments


@check_arguments()
def char_lstm(
    characters: int = 65, units: int = 256, layers: int = 2, steps: int = 50, **options: Any
) -> NetworkConf:
    """Builds LSTM layers over one-hot characters; each step predicts the next one.

    Parameters
    ----------
    characters : int
        Size of the alphabet; a plain English text has about 65 characters.
    units, layers : int
        Width and number of LSTM layers.
    steps : int
        Length of a sequence.
    options : of NetworkConf

    References
    ----------
    Graves, Generating sequences with recurrent neural networks (2013), section 3; Karpathy's
    char-rnn (2015) for the sizes.
    """
    stack = [LSTM(units=units) for _ in range(layers)]
    shape = (steps, characters)
    return NetworkConf(input_shape=shape, layers=[*stack, RnnOutput(units=characters)], **options)
