"""Paths with fields are formatted by Python's own formatter, as Keras does."""

import math

import pytest

from sparkdl.errors import ConfigError
from sparkdl.training.saving.path_template import PathTemplate

NUMBERS = {"epoch": 7, "loss": 0.123456, "validation_loss": 12.5, "validation_1/accuracy": 1.0}


def template(text):
    return PathTemplate("Owner.path", text)


@pytest.mark.parametrize(
    "text",
    [
        "m",
        "m-{epoch}",
        "m-{epoch:02d}",
        "{epoch:>4}/{epoch:x}",
        "{loss}",
        "m-{epoch:03d}-{loss:.2f}-{validation_loss:+.3e}",
        "{validation_1/accuracy:.1%}",
    ],
)
def test_a_path_is_filled_in_as_keras_does(text):
    assert template(text).fill(NUMBERS) == text.format_map(NUMBERS)


def test_keras_s_names_of_figures_are_known():
    made = template("{val_loss:.1f}-{validation_loss:.2f}-{val_loss}")
    assert made.fields == ("validation_loss",)
    assert made.fill(NUMBERS) == "12.5-12.50-12.5"


def test_an_absurd_width_is_refused():
    with pytest.raises(ConfigError, match="must have formats of numbers"):
        template("{epoch:99999999999d}")


def test_a_number_that_is_not_known_yet_is_nan():
    assert template("{loss:.2f}").fill({}) == f"{math.nan:.2f}" == "nan"


@pytest.mark.parametrize(
    "text", ["{3F25-04E0}", "{}", "{0}", "{{", "a}", "{ epoch}", "{a b}", "{a-b}"]
)
def test_other_braces_are_a_part_of_the_path(text):
    made = template(f"/media/{text}/{{epoch}}")
    assert made.fields == ("epoch",) and made.fill(NUMBERS) == f"/media/{text}/7"
    made.check(["epoch"])


@pytest.mark.parametrize("field", ["loss", "val_loss", "epochs", "batch"])
def test_a_field_that_is_no_number_of_ours_is_refused(field):
    text = f"m-{{epoch}}-{{{field}:.1f}}"
    name = "validation_loss" if field == "val_loss" else field
    message = (
        rf"^Owner.path must have fields among {{epoch}}, {{f1}}, got {{{name}}} in '{text}'; c$"
    )
    with pytest.raises(ConfigError, match=message):
        template(text).check(["epoch", "f1"], "; c")


@pytest.mark.parametrize("text", ["{epoch:.2d}", "{epoch:s}", "{loss:d}", "{loss:2y}"])
def test_a_format_that_no_number_has_is_refused(text):
    with pytest.raises(
        ConfigError, match=f"^Owner.path must have formats of numbers, got '{text}'"
    ):
        template(text)
