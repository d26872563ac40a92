"""Zoo functions reject invalid arguments by name."""

import re
from inspect import signature

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.nn import zoo
from sparkdl.nn.zoo.arguments import LAYOUT
from tests.support.tables import for_all

REFUSED = {  # a function, its arguments, and the error message
    "half a block": ("bert", {"depth": 1.5}, "bert.depth must be an integer >= 0, got 1.5"),
    "less than none": ("bert", {"depth": -1}, "bert.depth must be an integer >= 0"),
    "no width": ("bert", {"hidden": 0}, "bert.hidden must be an integer >= 1"),
    "an id": ("bert", {"padding_id": -1}, "bert.padding_id must be an integer >= 0, got -1"),
    "no number": ("lenet", {"classes": None}, "lenet.classes must be an integer >= 1, got None"),
    "layers": ("char_lstm", {"layers": []}, "char_lstm.layers must be an integer >= 0"),
    "fewer layers": ("char_lstm", {"layers": -1}, "char_lstm.layers must be an integer >= 0"),
    "a word": ("googlenet", {"auxiliary": "no"}, "googlenet.auxiliary must be True or False"),
    "one width": ("deep_fm", {"units": 5}, "deep_fm.units must be a sequence of integers >= 1"),
    "letters": ("factorization_machine", {"fields": "user"}, "two or more names .* got 'user'"),
    "one field": ("factorization_machine", {"fields": ["user"]}, "two or more names"),
    "more letters": ("dlrm", {"fields": "user"}, "dlrm.fields must be a sequence of one or more"),
    "no numbers": ("dlrm", {"numbers": 0}, "dlrm.numbers must be an integer >= 1, got 0"),
    "nothing": ("wide_deep", {"fields": ()}, "wide_deep.fields must have a name where numbers is"),
}


def test_arguments_that_cannot_be_are_refused():
    def check(name):
        function, options, words = REFUSED[name]
        with pytest.raises(ConfigError, match=words):
            getattr(zoo, function)(**options)

    for_all(REFUSED, check)


@pytest.mark.parametrize("name", zoo.__all__)
def test_no_network_takes_layers_or_inputs_of_others(name):
    function = getattr(zoo, name)
    for option in {*LAYOUT} - {*signature(function).parameters}:
        with pytest.raises(ConfigError, match=re.escape(f"{name}.{option} must be left out")):
            function(**{option: ()})


def test_numbers_may_be_those_of_numpy_and_options_of_the_conf_go_through():
    conf = zoo.lenet(np.int64(3), seed=5, optimizer="adam")
    assert (conf.output_size, conf.seed, conf.optimizer.type_name) == (3, 5, "Adam")
    assert (
        zoo.wide_deep(fields=(), numbers=3).parameter_count
        == zoo.wide_deep(fields=[], numbers=3).parameter_count
    )
    with pytest.raises(TypeError, match=r"lenet\(\) takes"):
        zoo.lenet(3, 4)
