"""Constraints on options: data that checks a value, words an error and documents a field."""

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.constraints.collections import Mapping, Row, Sequence, Sizes
from sparkdl.config.constraints.either import Either
from sparkdl.config.constraints.members import Of
from sparkdl.config.constraints.nested import Nested
from sparkdl.config.constraints.numbers import Integer, Number, Size
from sparkdl.config.constraints.objects import Callable, Instance, Optional
from sparkdl.config.constraints.scalars import Boolean, Character, Choice, Path, Text
