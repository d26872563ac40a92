"""Values that are shared until the session ends."""

from weakref import ref

import numpy as np
import pytest

from sparkdl.errors import ConfigError
from sparkdl.spark.jobs import lasting_values
from sparkdl.spark.jobs.lasting_values import MOST, LastingValues


class Shared:
    def __init__(self, sc):
        self.sc = sc


@pytest.fixture
def made(monkeypatch):
    """Collects the numbers of the SharedValues that are created."""
    made = []

    def share(sc, value):
        made.append(value["x"][0])
        return Shared(sc)

    monkeypatch.setattr(lasting_values, "SharedValue", share)
    return made


def value(number):
    return {"x": np.array([number, 0]), "run": lambda x: x + number}


def test_the_same_value_is_sent_once(made):
    values = LastingValues()
    one, same, other = (values.share("sc", value(n)) for n in (1, 1, 2))
    assert one is same and one is not other and made == [1, 2]


def test_a_value_that_was_written_over_is_sent_anew(made):
    values, given = LastingValues(), value(1)
    first = values.share("sc", given)
    given["x"][1] = 5
    assert values.share("sc", given) is not first and made == [1, 1]


def test_another_session_gets_values_of_its_own(made):
    values = LastingValues()
    assert [values.share(sc, value(1)).sc for sc in ("one", "one", "two", "one")] == [
        *("one", "one", "two", "one")
    ]
    assert made == [1] * 3


def test_the_last_ones_are_known_again(made):
    """No reference to older ones is kept, so Spark frees them once no DataFrame needs them."""
    values = LastingValues()
    first, *_ = [ref(values.share("sc", value(number))) for number in range(MOST)]
    assert first() is not None
    for number in [*range(MOST), MOST, *range(2, MOST)]:
        values.share("sc", value(number))
    assert first() is None and made == [*range(MOST + 1)]


def test_what_cannot_travel_is_named(sc):
    with pytest.raises(ConfigError, match=r"objects for tasks .* must travel to the executors"):
        LastingValues().share(sc, sc)
