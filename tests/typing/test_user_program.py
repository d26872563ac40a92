"""The type checker and the program at run time accept and refuse the same."""

import pytest

from sparkdl.errors import ConfigError
from tests.typing.user_program import MISTAKES, SOUND, graph, read_options


@pytest.mark.parametrize("make", SOUND)
def test_what_type_checks_can_be_made(make):
    assert make() is not None


@pytest.mark.parametrize("make", MISTAKES)
def test_what_does_not_type_check_is_refused(make):
    with pytest.raises(ConfigError):
        make()


def test_options_have_the_types_that_are_read():
    assert read_options() == (3, 1.0, "auto")
    assert graph().parameter_count == 35
