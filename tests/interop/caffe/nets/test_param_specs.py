"""lr_mult and decay_mult of parameters that layers share, merged as in Caffe's AppendParam."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import LayerParameter
from sparkdl.interop.caffe.nets.param_specs import collect_specs, weights_apart


def collect(*texts):
    specs = {}
    for text in texts:
        collect_specs(specs, parse_text(text, LayerParameter))
    return {name: (spec.lr_mult, spec.decay_mult) for name, spec in specs.items()}


ROWS = {
    "none": (["param { lr_mult: 2 }", "type: 'ReLU'"], {}),
    "the first": (["param { name: 'w' lr_mult: 2 decay_mult: 0 }"], {"w": (2, 0)}),
    "a later one": (
        ["param { name: 'w' } param { name: 'b' lr_mult: 2 }", "param { name: 'w' lr_mult: 0 }"],
        {"w": (0, 1), "b": (2, 1)},
    ),
    "one of each": (
        ["param { name: 'w' lr_mult: 3 }", "param { name: 'w' lr_mult: 3 decay_mult: 0.5 }"],
        {"w": (3, 0.5)},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_first_that_gives_a_factor_says_it(name):
    texts, wanted = ROWS[name]
    assert collect(*texts) == wanted


@pytest.mark.parametrize("factor", ["lr_mult", "decay_mult"])
def test_another_number_is_refused(factor):
    texts = [f"param {{ name: 'w' {more} }}" for more in ("", f"{factor}: 0.5", f"{factor}: 1")]
    with pytest.raises(ConfigError, match=f"param.{factor} of 'w' must be 0.5, .* got 1; give it"):
        collect(*texts)


PRODUCT = "type: 'InnerProduct' "
ALONE = PRODUCT + "param { name: 'w' } inner_product_param { bias_term: false }"
APART = {
    "one layer": ([PRODUCT + "param { name: 'w' }"], set()),
    "no biases": ([ALONE, ALONE], set()),
    "biases shared too": ([PRODUCT + "param { name: 'w' } param { name: 'b' }"] * 2, set()),
    "biases without names": ([PRODUCT + "param { name: 'w' }"] * 2, {"w"}),
    "biases with other names": (
        [PRODUCT + f"param {{ name: 'w' }} param {{ name: '{name}' }}" for name in "bc"],
        {"w"},
    ),
    "a bias and none": ([PRODUCT + "param { name: 'w' }", ALONE], {"w"}),
    "other layers": (["type: 'Convolution' param { name: 'w' }"] * 2, set()),
}


@pytest.mark.parametrize("name", APART)
def test_weights_without_their_biases(name):
    texts, wanted = APART[name]
    assert weights_apart([parse_text(text, LayerParameter) for text in texts]) == wanted
