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


OTHER_IN_YAML_1_2 = {
    "a leading zero": ("a: {b: [1, 010]}", "a.b.1 must be a decimal number ", "got 010 in line 1"),
    "a negative one": ("epochs: -012", "epochs must be a decimal number ", "got -012 in line 1"),
    "base 60": ("a: 1\nport: 1:30", "port must be a decimal number ", "got 1:30 in line 2"),
    "base 60 with a point": ("rate: 1:30.5", "rate must be a decimal number ", "got 1:30.5 in"),
    "a key": ("a: {010: 1}", "a.010 must be a decimal number ", "got 010 in line 1"),
}


@pytest.mark.parametrize("case", OTHER_IN_YAML_1_2)
def test_numbers_of_another_value_in_yaml_1_2_are_refused_by_name(case):
    document, begins, found = OTHER_IN_YAML_1_2[case]
    with pytest.raises(ConfigError) as caught:
        text.from_yaml(document)
    assert str(caught.value).startswith(begins)
    assert found in str(caught.value)


def test_such_texts_in_quotes_and_numbers_of_one_value_are_read():
    document = "a: '010'\nb: \"1:30\"\nc: 0\nd: 0.5\ne: 0x10\nf: 010.5\ng: host:8080\nh: 1_000"
    assert list(text.from_yaml(document).values()) == [
        *("010", "1:30", 0, 0.5, 16, 10.5, "host:8080", 1000)
    ]
    again = {"a": "010", "b": "1:30"}
    assert text.from_yaml(text.to_yaml(again)) == again


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


BROKEN = {
    "a list that does not end": (
        "a: 1\nb: [1, 2\nc: : 3\n",
        "line 3, column 2: expected ',' or ']', but got ':', while parsing a flow sequence from"
        " line 2, column 4",
    ),
    "a mapping that does not end": ("{type:", "line 1, column 7: expected the node content, but"),
    "a tab": (
        "a:\n\tb: 1\n",
        "line 2, column 1: found character '\\t' that cannot start any token",
    ),
    "two keys in a line": ("a: b: c", "line 1, column 5: mapping values are not allowed here"),
    "a control character": ("a: 1\nb: x\x07", "line 2, column 5: found character 0x7, special "),
    "one at the start": ("\x00", "line 1, column 1: found character 0x0, special characters are"),
    "a name that is not there": ("a:\n  - *x", "line 2, column 5: found undefined alias 'x'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_yaml_is_one_sentence_with_its_place(case):
    document, message = BROKEN[case]
    with pytest.raises(ConfigError) as caught:
        text.from_yaml(document)
    assert str(caught.value).startswith(f"not valid YAML: {message}")
    assert "\n" not in str(caught.value)


def test_characters_before_the_text_do_not_count_in_its_columns():
    for document, place in (("value: [1", "line 1, column 3"), ("value: [\n:", "line 2, column 1")):
        with pytest.raises(ConfigError, match=f"not valid YAML: {place}: expected"):
            text.from_yaml(document, before=len("value: "))


def test_json_refuses_numbers_that_json_has_not():
    with pytest.raises(ValueError):
        text.to_json({"a": float("nan")})
