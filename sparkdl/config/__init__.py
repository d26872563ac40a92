"""Configurations: options that are checked, documented, found by name, and kept as JSON or YAML."""

from sparkdl.config.config import Config, build, plain
from sparkdl.config.constraints import (
    Boolean,
    Callable,
    Character,
    Choice,
    Either,
    Instance,
    Integer,
    Mapping,
    Nested,
    Number,
    Of,
    Optional,
    Path,
    Requirement,
    Row,
    Sequence,
    Size,
    Sizes,
    Text,
)
from sparkdl.config.constraints.numbers import is_integer
from sparkdl.config.dataclass import FrozenFields, dataclass
from sparkdl.config.member import Member
from sparkdl.config.names import suggestion
from sparkdl.config.option import option
from sparkdl.errors import brief
