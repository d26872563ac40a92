"""Any text parses to a mapping or raises a short ConfigError, within a time limit."""

import json
from time import process_time

import pytest

from sparkdl.config import text
from sparkdl.errors import ConfigError
from sparkdl.nn import GraphConf, NetworkConf
from tests.support.tables import slow

LIMIT = 1.0  # CPU seconds


def aliases(levels, wide=9):
    """Returns a few hundred characters of YAML that expand to wide^levels values."""
    lines = ["a0: &a0 [x, x]"]
    for i in range(1, levels):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * wide)}]")
    return "\n".join(lines)


YAML = {
    "bomb": aliases(9),
    "bomb under a field": f"{aliases(9)}\nlayers: *a8",
    "bomb of merges": "\n".join(
        ["a0: &a0 {x: 1}"]
        + [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 9)]
    ),
    "long chain": "\n".join(["a0: &a0 [1]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 250)]),
    "ring": "a: &a [*a]",
    "ring of a key": "? &a [*a]\n: 1",
    "deep list": f"a: {'[' * 100_000}",
    "deep closed list": f"a: {'[' * 500}{']' * 500}",
    "deep mapping": "{a: " * 5_000,
    "deep dashes": "- " * 5_000,
    "deep questions": "? " * 5_000,
    "wide": f"a: [{', '.join(['1'] * 45_000)}]",
    "long": "a" * (3 << 20),
    "digits": f"a: {'9' * 5_000}",
    "many digits": f"a: {'9' * 1_000_000}",
    "hours": f"a: {'1:' * 300_000}1",
    "no integer": "a: !!int abc",
    "empty integer": "a: !!int ''",
    "no float": "a: !!float abc",
    "no bool": "a: !!bool abc",
    "integer of a list": "a: !!int [1]",
    "no list": "a: !!seq abc",
    "no mapping": "a: !!map abc",
    "list as mapping": "!!map [1]",
    "date": "a: !!timestamp 2024-01-31",
    "no date": "a: !!timestamp abc",
    "binary": "a: !!binary aGk=",
    "set": "a: !!set {b, c}",
    "omap": "a: !!omap [b: 1]",
    "pairs": "a: !!pairs [b: 1]",
    "object": "a: !!python/object/apply:os.system [ls]",
    "long tag": f"a: !{'x' * 50_000} 1",
    "unknown alias": f"a: *{'x' * 50_000}",
    "list as key": "? [1]\n: 2",
    "mapping as key": "? {a: 1}\n: 2",
    "double key": f"{'k' * 50_000}: 1\n{'k' * 50_000}: 2",
    "double number": "1: a\n1: b",
    "two documents": "a: 1\n---\nb: 2",
    "tab": "a:\n\t- 1",
    "zero byte": "a: \0",
    "half a pair": "a: \ud800",
    "date alone": "2024-01-31",
    "text": "abc",
    "number": "3",
    "nothing": "",
    "bytes": b"a: 1",
    "None": None,
}
JSON = {
    "deep list": "[" * 100_000,
    "deep closed list": f'{{"a": {"[" * 500}{"]" * 500}}}',
    "deep mapping": '{"a": ' * 100_000,
    "deeper than we go": f'{{"a": {"[" * 100}{"]" * 100}}}',
    "digits": f'{{"a": {"9" * 5_000}}}',
    "many digits": f'{{"a": {"9" * 1_000_000}}}',
    "double keys": "{" + ", ".join('"a": 1' for _ in range(100_000)) + "}",
    "long key twice": f'{{"{"k" * 50_000}": 1, "{"k" * 50_000}": 2}}',
    "many keys, one twice": "{" + ", ".join(f'"{i % 99_999}": 1' for i in range(100_000)) + "}",
    "open": '{"a": 1',
    "list": "[1]",
    "nothing": "",
    "bytes": b"{}",
    "None": None,
}


def complaint(read, document):
    """Returns the message of `read`'s error for `document`, raised within the time limit."""
    start = process_time()
    with pytest.raises(ConfigError) as caught:
        read(document)
    assert process_time() - start < LIMIT * (4 if len(document or "") > 100_000 else 1)
    assert len(str(caught.value)) <= 500
    return str(caught.value)


@pytest.mark.parametrize(
    "case", [slow(n) if len(text or "") > 50_000 else n for n, text in YAML.items()]
)
def test_yaml_is_refused_soon(case):
    assert complaint(text.from_yaml, YAML[case])


@pytest.mark.parametrize("case", JSON)
def test_json_is_refused_soon(case):
    assert complaint(text.from_json, JSON[case])


OF_EACH_KIND = ["bomb", "deep mapping", "digits", "object", "double key", "text", "bytes"]


@pytest.mark.parametrize("case", OF_EACH_KIND)
@pytest.mark.parametrize("conf", [NetworkConf, GraphConf])
def test_networks_are_refused_soon(conf, case):
    assert complaint(conf.from_yaml, YAML[case]) == complaint(text.from_yaml, YAML[case])


def test_the_reason_is_said():
    assert "at most 40000 values" in complaint(text.from_yaml, YAML["bomb"])
    assert "mappings and lists at most 64 deep" in complaint(text.from_yaml, YAML["deep list"])
    assert "mappings and lists at most 64 deep" in complaint(
        text.from_json, JSON["deeper than we go"]
    )
    assert "an alias is inside" in complaint(text.from_yaml, YAML["ring"])
    assert "one of 5000 characters" in complaint(text.from_yaml, YAML["digits"])
    assert "one of 5000 characters" in complaint(text.from_json, JSON["digits"])
    assert "'tag:yaml.org,2002:set' in line 1 is not supported" in complaint(
        text.from_yaml, YAML["set"]
    )


def test_a_date_is_a_text_as_in_json():
    assert text.from_yaml("a: 2024-01-31") == {"a": "2024-01-31"}


def test_aliases_and_merges_of_a_common_size_are_read():
    assert text.from_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a") == {
        "a": {"x": 1},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1},
    }


@pytest.mark.slow
def test_large_networks_are_read():
    layers = [{"type": "Dense", "units": 3, "activation": "relu"} for _ in range(1000)]
    options = {"input_shape": [4], "layers": layers}
    assert text.from_yaml(text.to_yaml(options)) == options
    assert text.from_json(json.dumps(options)) == options
