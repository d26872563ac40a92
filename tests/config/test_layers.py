"""The options of layers, with the examples that the numbers of layers are tested with."""

import json
from dataclasses import fields, replace

import pytest

from sparkdl.config import Text, text
from sparkdl.errors import ConfigError
from sparkdl.nn.layers import Layer
from tests.config.nonsense import NONSENSE
from tests.nn.layer_cases import LAYERS

EXAMPLES = {type(layer): layer for layer, *_ in reversed(LAYERS)}


def described(cls):
    """The options of `cls` that say what they are for, {name: Option}."""
    options = {item.name: item.metadata.get("option") for item in fields(cls)}
    return {name: about for name, about in options.items() if about and about.text}


def every_option():
    """(class, name), one class for each option that many inherit."""
    found = {}
    for cls in EXAMPLES:
        for name, about in described(cls).items():
            found.setdefault(id(about), (cls, name))
    return list(found.values())


OPTIONS = every_option()
EXPLAINED = [cls for cls in EXAMPLES if len(described(cls)) == len(fields(cls))]


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_comes_back_from_a_dict_json_and_yaml(cls):
    one = EXAMPLES[cls]
    options = one.to_dict()
    assert Layer.from_dict(options) == one
    assert Layer.from_dict(json.loads(json.dumps(options))) == one
    assert Layer.from_dict(text.from_json(text.to_json(options))) == one
    assert Layer.from_dict(text.from_yaml(text.to_yaml(options))) == one


@pytest.mark.parametrize("cls", EXPLAINED, ids=lambda cls: cls.__name__)
def test_help_explains_every_option(cls):
    for name, about in described(cls).items():
        assert f"\n{name} : " in cls.__doc__
        assert " ".join(about.text.split()) in " ".join(cls.__doc__.split())


@pytest.mark.parametrize("cls, name", OPTIONS, ids=[f"{c.__name__}.{n}" for c, n in OPTIONS])
def test_nonsense_is_refused_by_name_or_kept_as_text_can_say(cls, name):
    for what, value in NONSENSE.items():
        try:
            made = replace(EXAMPLES[cls], **{name: value})
        except ConfigError as error:
            assert len(str(error)) <= (1600 if name == "layer" else 600), what  # all are named
            assert f"{cls.__name__}." in str(error) or "type" in str(error), what
        else:
            assert Layer.from_dict(text.from_json(text.to_json(made.to_dict()))) == made, what


@pytest.mark.parametrize("cls, name", OPTIONS, ids=[f"{c.__name__}.{n}" for c, n in OPTIONS])
def test_no_array_and_no_text_is_taken_for_a_number(cls, name):
    constraint = described(cls)[name].constraint
    is_text = isinstance(getattr(constraint, "of", constraint), Text)
    for what in ("array", "array of one", *["number as text"] * (not is_text)):
        with pytest.raises(ConfigError):
            replace(EXAMPLES[cls], **{name: NONSENSE[what]})
