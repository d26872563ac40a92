"""Constraints on options: objects that check a value, word the error and document the field."""

from sparkdl.config.constraints.base import Requirement
from sparkdl.config.constraints.collections import Mapping, Row, Sequence, Sizes
from sparkdl.config.constraints.either import Either
from sparkdl.config.constraints.members import Of
from sparkdl.config.constraints.nested import Nested
from sparkdl.config.constraints.numbers import Integer, Number, Size
from sparkdl.config.constraints.objects import Callable, Instance, Optional
from sparkdl.config.constraints.scalars import Boolean, Character, Choice, Path, Text
