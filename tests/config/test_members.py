"""Every registered member of every family with constrained options: round trips, errors, help."""

import json
import re
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from itertools import product

import pytest

import sparkdl
from sparkdl.config import Config, Member, text
from sparkdl.config.documentation import format_default
from sparkdl.config.option import default_of, option_of, options_of
from sparkdl.data import Arrays, Source
from sparkdl.data.readers.tables.frame_columns import FrameColumn
from sparkdl.data.transforms import Compose, MeanImage, Transform
from sparkdl.errors import ConfigError, DataError
from sparkdl.exchange.codecs import Codec, ThresholdRule
from sparkdl.nn.activations import ActivationFunction
from sparkdl.nn.clipping import Clipping
from sparkdl.nn.constraints import Constraint
from sparkdl.nn.initializers import Initializer
from sparkdl.nn.layers import Layer
from sparkdl.nn.losses import Loss
from sparkdl.nn.optimizers import Optimizer
from sparkdl.nn.schedules import Schedule
from sparkdl.nn.solvers import Solver
from sparkdl.nn.weight_noise import WeightNoise
from sparkdl.training.masters.base import TrainingMaster
from sparkdl.training.masters.registry import CLASSES
from tests.config.nonsense import NONSENSE
from tests.nn.layer_cases import LAYERS
from tests.support.tables import for_all

FAMILIES = [
    ActivationFunction,
    Clipping,
    Codec,
    Constraint,
    FrameColumn,
    Initializer,
    Layer,
    Loss,
    Schedule,
    Solver,
    Source,
    ThresholdRule,
    TrainingMaster,
    Transform,
    Optimizer,
    WeightNoise,
]
NEEDED = {
    "path": "data/a",
    "columns": {"features": {"type": "Pictures", "name": "image"}},
    "name": "label",
    "initial": 0.1,
    "steps": 10,
    "gamma": 0.5,
    "groups": 2,
    "step": 3,
    "peak": 1.0,
    "then": 0.1,
    "limit": 1.0,
    "low": 0.0,
    "high": 1.0,
    "value": 1.0,
    "label_length": 2,
    "components": 1,
    "width": 2,
    "rates": [[0, 0.1], [10, 0.01]],
    "schedules": [[0, 0.1], [10, {"type": "CosineSchedule", "initial": 0.1, "steps": 9}]],
    "gain": [[1.0]],
    "boxes": [[1.0, 2.0]],
    "size": 3,
    "shape": [1, 2, 2],
    "classes": 3,
    "degrees": 10,
}
OTHERS = {"MultiStepSchedule": {"steps": [5, 9]}, "MeanImage": {"path": "mean.npy"}}
LAYER_EXAMPLES = {type(layer): layer for layer, _ in reversed(LAYERS)}
NO_TEXT = {(MeanImage, "mean")}  # only Python can give an array, as with Arrays
NO_HASH = {"DataFrames", "Pictures"}  # they contain dicts


def members():
    """Returns (family, class) of all our members."""
    ours = [(f, c) for f in FAMILIES for c in f.members.values() if c is not Arrays]
    return [(f, c) for f, c in ours if c.__module__.startswith("sparkdl.")]


def example(cls):
    """Returns a member with its required options, and defaults otherwise."""
    if cls in LAYER_EXAMPLES:
        return LAYER_EXAMPLES[cls]
    needed = [item.name for item in fields(cls) if default_of(item) is MISSING]
    chosen = {name: NEEDED[name] for name in needed}
    return cls(**chosen | OTHERS.get(cls.__name__, {}))


MEMBERS = members()
OF_FAMILY = {family: [cls for f, cls in MEMBERS if f is family] for family in FAMILIES}
by_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


def test_every_family_is_here():
    ours = {f.__name__ for f in Member.__subclasses__() if f.__module__.startswith("sparkdl.")}
    assert ours == {family.__name__ for family in FAMILIES}
    assert set(CLASSES) <= {cls for _, cls in MEMBERS}


@by_family
def test_comes_back_from_a_dict_json_and_yaml(family):
    def check(cls):
        one = example(cls)
        options = {"type": cls.type_name} | one.to_dict()
        assert family.from_dict(options) == one
        assert family.from_dict(json.loads(json.dumps(options))) == one
        assert family.from_dict(text.from_json(text.to_json(options))) == one
        assert family.from_dict(text.from_yaml(text.to_yaml(options))) == one
        assert cls.__name__ in NO_HASH or hash(one) == hash(family.from_dict(options))

    for_all(OF_FAMILY[family], check)


def configurations(base=Config):
    """Yields all our classes that have options, whether or not in a family."""
    for cls in base.__subclasses__():
        yield cls
        yield from configurations(cls)


OURS = {c.__qualname__: c for c in configurations() if c.__module__.startswith("sparkdl.")}
COUNTED = {"bytes": "bytes", "timeout": "seconds", "minutes": "minutes"}
COUNTED |= {"push_every": "minibatches", "fetch_every": "minibatches", "snapshot_every": "rounds"}
PUBLIC = {n for m in sparkdl.MODULES for n in getattr(sparkdl, m).__all__} | {*sparkdl.HOMES}
PUBLIC |= {"pretrain", "start", "to"}  # of Network, of a nested schedule, of DL4J
HIDDEN = re.compile(r"(?<![\w)])_[a-z]|\bRun\b|\bparam_shapes\b")


def test_help_explains_every_option_with_unit_and_default():
    def check(cls):
        shown = signature(cls).parameters
        for item in fields(cls):
            about, default = option_of(item, cls), default_of(item)
            unit = f", {about.unit}" if about.unit else ""
            end = "" if default is MISSING else f", default {format_default(default)}"
            assert f"\n{item.name} : {about.constraint.phrase}{unit}{end}\n    " in cls.__doc__
            assert (shown[item.name].default is Parameter.empty) == (default is MISSING)
            for word, unit in COUNTED.items():
                assert word not in item.name or unit in f"{about.unit} {item.name} {about.text}"

    for_all(OURS.values(), check)


@by_family
def test_help_names_what_users_can_see_and_nothing_else(family):
    def check(cls):
        known = PUBLIC | {*signature(cls).parameters}
        named = [w for words in re.findall(r"`([^`]+)`", cls.__doc__) for w in words.split(".")]
        assert not {*named} - known and not HIDDEN.search(cls.__doc__)
        assert family is not Layer or "\nShapes\n------\n" in cls.__doc__

    for_all(OF_FAMILY[family], check)


@by_family
def test_defaults_meet_their_constraints(family):
    def check(cls):
        for item in fields(cls):
            default, constraint = default_of(item), option_of(item, cls).constraint
            if default is not MISSING and (cls, item.name) not in NO_TEXT:
                kept = constraint.check(default, item.name)
                assert constraint.check(kept, item.name) == kept

    for_all(OF_FAMILY[family], check)


@pytest.mark.parametrize("family, cls", MEMBERS, ids=[cls.type_name for _, cls in MEMBERS])
def test_nonsense_is_refused_by_name_or_kept_as_text_can_say(family, cls):
    good = {i.name: getattr(example(cls), i.name) for i in fields(cls)}
    taking = [i.name for i in fields(cls) if (cls, i.name) not in NO_TEXT]
    for field, (name, value) in product(taking, NONSENSE.items()):
        try:
            made = cls(**(good | {field: value}))
            options = {"type": cls.type_name} | made.to_dict()
        except ConfigError as error:
            assert len(str(error)) <= 600, (field, name)
            assert any(
                n in str(error) for n in (f"{cls.__name__}.", "type", "Tls ", "Characters ")
            ), (field, name)
        else:
            again = text.from_json(text.to_json(options))
            assert type(made).from_dict(again) == made, (field, name)


@pytest.mark.parametrize("cls", Source.members.values(), ids=list(Source.members))
@pytest.mark.parametrize("word", ["transforms", "scale", "mean"])
def test_nonsense_in_place_of_a_transform_is_refused_by_name(cls, word):
    good = {"features": [[1.0]]} if cls is Arrays else {}
    needed = [item.name for item in fields(cls) if default_of(item) is MISSING]
    good = {name: NEEDED[name] for name in needed if name in NEEDED} | good
    taken = 0
    for name, value in NONSENSE.items():
        try:
            cls(**good, **{word: value})
            taken += 1
        except ConfigError as error:
            assert word in str(error) and cls.__name__ in str(error), name
            assert len(str(error)) <= 600
    assert taken < 16


@pytest.mark.parametrize("name", NONSENSE)
@pytest.mark.parametrize("field", ["features", "labels"])
def test_nonsense_in_place_of_arrays_is_refused_by_name(field, name):
    try:
        made = Arrays(**({"features": [1.0, 2.0, 3.0]} | {field: NONSENSE[name]}))
    except (ConfigError, DataError) as error:
        assert (field in str(error) or "many type" in str(error)) and len(str(error)) <= 600
    else:
        with pytest.raises(ConfigError, match="Arrays.features must be text or numbers to be"):
            made.to_dict()


@by_family
def test_a_name_that_is_not_known_is_refused(family):
    def check(cls):
        with pytest.raises(ConfigError, match=f"{cls.__name__} has no field 'color'"):
            cls(color=1)
        if cls is not Compose:  # it takes any number of transforms
            with pytest.raises(ConfigError, match=f"{cls.__name__} takes options by name only"):
                cls(1, 2, 3)

    for_all(OF_FAMILY[family], check)


def test_texts_say_in_one_wording_what_none_means():
    texts = {(c, n): o.text for _, c in MEMBERS for n, o in options_of(c).items() if o is not None}
    assert [place for place, text in texts.items() if "unless given" in text] == []
