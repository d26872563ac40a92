"""JSON and YAML as people write them."""

import pytest

from sparkdl.config import text
from sparkdl.errors import ConfigError


def test_yaml_reads_numbers_without_a_point():
    assert text.from_yaml("a: 1e-3\nb: -2E5\nc: 1.5e+2\nd: 7\ne: 1e3x\n") == {
        "a": 0.001,
        "b": -200000.0,
        "c": 150.0,
        "d": 7,
        "e": "1e3x",
    }


@pytest.mark.parametrize("number", [1e-5, 1e22, 0.1, 1 / 3, 5e-324, 2**62])
def test_numbers_come_back_exactly(number):
    assert text.from_yaml(text.to_yaml({"a": number})) == {"a": number}
    assert text.from_json(text.to_json({"a": number})) == {"a": number}


def test_yaml_has_innermost_lists_and_mappings_on_a_line():
    written = text.to_yaml({"shape": [1, 2], "layers": [{"type": "Dense", "units": 3}]})
    assert written == "shape: [1, 2]\nlayers:\n- {type: Dense, units: 3}\n"


REFUSED = {
    "broken json": (text.from_json, '{"a": }', "not valid JSON: Expecting value: line 1 column 7"),
    "broken yaml": (text.from_yaml, "a: [1", "not valid YAML: "),
    "list": (text.from_json, "[1]", "the JSON text must hold a mapping, got list"),
    "nothing": (text.from_yaml, "", "the YAML text must hold a mapping, got NoneType"),
    "double key in json": (text.from_json, '{"a": 1, "a": 2}', "the key 'a' is given twice"),
    "double key in yaml": (text.from_yaml, "b: {a: 1, a: 2}", "the key 'a' is given twice"),
    "object in yaml": (text.from_yaml, "a: !!python/object:os.system {}", "not valid YAML"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refuses(case):
    read, document, message = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        read(document)
    assert message in str(caught.value)


def test_json_refuses_numbers_that_json_has_not():
    with pytest.raises(ValueError):
        text.to_json({"a": float("nan")})
