"""Each folder's README names what is there, and what any README names is there.

A rule is a function that lists what is wrong with a page, so each is also asked about wrong pages.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.pages import pages

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sparkdl"
GUIDES = [*pages(), ".github/CONTRIBUTING.md", ".github/CHANGELOG.md"]
MADE = {"dist/"}  # by build.py

FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
ENDING = r"\.(py|cu|cuh|md|txt|yaml|conf|ipynb|prototxt)"
PLACE = re.compile(rf"(?!/)[\w.*/<>-]*(/|\w{ENDING})")
PLACEHOLDER = re.compile(r"<\w+>")  # as in kernels/source/<family>.cu
TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
FREE = re.compile(rf"\w*<\w+>\w*|{TEXT.pattern}")  # what code may say as it likes
CAPITALS = r"\b[A-Z][A-Z_]+\b"
TABLE = re.compile(
    rf"`?({CAPITALS})`?(?: (?:and|or) `?({CAPITALS})`?)?,? (?:in|of) (?:a module of )?`([^`]+)`"
)
COMMANDS = ("python ", "sparkdl ", "pip ")
NAME = re.compile(r"\b(?:[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)\b")
WORD = re.compile(r"[A-Za-z_]\w+")
NO_CODE = {".py": re.compile(r'"""(?:.|\n)*?"""|#.*')}
NO_CODE |= dict.fromkeys([".cu", ".cuh"], re.compile("//.*"))


@dataclass(frozen=True)
class Page:
    """A README and the folder that it lies in."""

    folder: Path
    text: str

    @property
    def prose(self):
        return FENCE.sub("", self.text)

    @property
    def spans(self):
        """What stands between backticks, outside of examples and diagrams."""
        return re.findall(r"`([^`]+)`", self.prose)

    @property
    def places(self):
        """The files and folders among these."""
        return [span for span in self.spans if PLACE.fullmatch(span)]

    @property
    def names(self):
        """The spans that are code."""
        code = (span for span in self.spans if not PLACE.fullmatch(span) and "/" not in span)
        return [span for span in code if not span.startswith(COMMANDS)]

    @property
    def rows(self):
        """(first cell, the others) of each row of its tables."""
        found = re.findall(r"^\|([^|]*)\|(.*)\|$", self.prose, re.MULTILINE)
        return [(Page(self.folder, first), Page(self.folder, rest)) for first, rest in found]


# The rules


def unnamed_modules(page):
    """Modules and folders with code that stand beside the page and have no place in it."""
    named = {path for place in page.places for path in found_at(page.folder, place)}
    for path in sorted(page.folder.iterdir()):
        if is_part(path) and path not in named:
            yield f"{path.name} is not named"


def absent_places(page):
    """Files and folders that are named and are not there."""
    for place in page.places:
        if place not in MADE and not found_at(page.folder, place):
            yield f"there is no {place}"


def absent_names(page):
    """Names that stand nowhere in the code, nor in a file that the page names."""
    known = names_in(PACKAGE) | names_at(page, page.places)
    for span in page.names:
        for name in words_of(span):
            if name not in known:
                yield f"there is no {name}, of `{span}`"


def absent_names_in_diagrams(page):
    """Words in examples and diagrams that look like names of code and are none."""
    for fence in FENCE.findall(page.text):
        for name in NAME.findall(TEXT.sub("", fence)):
            if name not in names_in(PACKAGE):
                yield f"there is no {name}, in a diagram"


def misplaced_names(page):
    """Names in a row of a table that are not in the module or folder of that row."""
    for first, rest in page.rows:
        modules = [place for place in first.places if place.endswith((".py", "/"))]
        there = names_at(page, modules)
        for span in rest.names if there else []:
            for name in words_of(span):
                if name not in there:
                    yield f"{name} is not in {', '.join(modules)}"


def misplaced_tables(page):
    """Tables that a page sends its reader to ("a row to KINDS in `tests/data/sources.py`")."""
    for one, other, place in TABLE.findall(page.prose):
        for name in filter(None, [one, other]):
            if name not in names_at(page, [place]):
                yield f"there is no {name} in {place}"


def broken_links(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.prose):
        if "://" not in target and not (page.folder / target).exists():
            yield f"the link to {target} leads nowhere"


# Reading pages and code


def is_part(path):
    """Whether a path is a module, or a folder that has code."""
    if path.name.startswith("__"):
        return False
    return path.suffix in NO_CODE or (
        path.is_dir() and any(f.suffix in NO_CODE for f in path.rglob("*"))
    )


def found_at(folder, place):
    """Paths that a place means: in a folder, in one above it, or in those right below it."""
    pattern = PLACEHOLDER.sub("*", place).rstrip("/")
    above = [base for base in [folder, *folder.parents] if base.is_relative_to(ROOT)]
    for base, wanted in [*((base, pattern) for base in above), (folder, f"*/{pattern}")]:
        found = [path.resolve() for path in sorted(base.glob(wanted))]
        if found and (not place.endswith("/") or all(path.is_dir() for path in found)):
            return found
    return []


def names_at(page, places):
    return set().union(
        *(names_in(path) for place in places for path in found_at(page.folder, place))
    )


@cache
def names_in(path):
    """All names in the code of a file or a folder, and those of its files and folders."""
    if path.is_dir():
        return frozenset().union(*map(names_in, path.iterdir()), [path.name])
    code = NO_CODE[path.suffix].sub("", path.read_text()) if path.suffix in NO_CODE else ""
    return frozenset([*WORD.findall(code), *path.name.split(".")])


def words_of(span):
    """The names in a piece of code."""
    return WORD.findall(FREE.sub("", span))


# The rules asked about the pages that there are

READMES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("README.md"))


def page_at(path):
    return Page((ROOT / path).parent, (ROOT / path).read_text())


RULES = [unnamed_modules, absent_names, absent_names_in_diagrams, misplaced_names]
FOR_ALL = [absent_places, misplaced_tables, broken_links]


@pytest.mark.parametrize("rule", dict.fromkeys(RULES + FOR_ALL))
def test_readmes_keep(rule):
    wrong = [f"{path}: {what}" for path in READMES for what in rule(page_at(path))]
    assert not wrong


@pytest.mark.parametrize("rule", FOR_ALL)
@pytest.mark.parametrize("path", GUIDES)
def test_guides_keep(path, rule):
    assert not list(rule(page_at(path)))


# The rules asked about pages that break them

NN = PACKAGE / "nn" / "optimizers"


def page(text):
    return Page(NN, text)


def test_a_module_that_is_not_named_is_seen():
    text = (NN / "README.md").read_text()
    assert "lars.py is not named" in unnamed_modules(page(text.replace("`lars.py`", "")))


@pytest.mark.parametrize("place", ["sgdd.py", "updaters/", "nn/sgd.py", "tests/nn/test_sgd.py"])
def test_a_file_that_is_not_there_is_seen(place):
    assert list(absent_places(page(f"see `{place}`"))) == [f"there is no {place}"]


PLACES = ["sgd.py", "base.py", "../sgd.py", "optimizers/sgd.py", "tests/nn/", "nn/<family>/base.py"]


@pytest.mark.parametrize("place", PLACES)
def test_a_file_is_found_from_its_folder_and_from_those_above(place):
    place = place.replace("../", "../optimizers/")
    assert not list(absent_places(page(f"see `{place}`")))


@pytest.mark.parametrize("span", ["Updater", "Sgd(rating=0.1)", "Sgd.no_such_thing"])
def test_a_name_that_is_nowhere_is_seen(span):
    assert len(list(absent_names(page(f"Use `{span}`.")))) == 1


SPANS = [
    "Sgd(learning_rate=0.1)",
    'Dense(activation="any text")',
    "<Family>Op",
    "python -m nothing",
]


@pytest.mark.parametrize("span", SPANS)
def test_names_that_exist_pass(span):
    assert not list(absent_names(page(f"Use `{span}`, and examples:\n```\nno_such_thing\n```\n")))


def test_a_name_of_nothing_in_a_diagram_is_seen():
    text = "```\nSgd --> no_such_step(grad) --> NoSuchThing --> learning_rate, any words\n```"
    found = absent_names_in_diagrams(page(text))
    assert [line.split(",")[0][12:] for line in found] == ["no_such_step", "NoSuchThing"]


def test_a_name_of_another_module_is_seen():
    row = "| `sgd.py` | `Sgd`, `Momentum` |"
    assert list(misplaced_names(page(row))) == ["Momentum is not in sgd.py"]


TABLES = ["OPTAX or NONE_SUCH in `tests/nn/test_optimizers.py`", "rows of `GONE` in `sgd.py`"]


@pytest.mark.parametrize("text", TABLES)
def test_a_table_that_is_elsewhere_is_seen(text):
    assert len(list(misplaced_tables(page(text)))) == 1
    assert not list(misplaced_tables(page("a row to OPTAX or BY_HAND in `tests/nn/`")))


def test_a_broken_link_is_seen():
    text = (
        "[base](base.py), [more](../README.md#to-add), [web](https://spark.apache.org), [x](x.md)"
    )
    assert list(broken_links(page(text))) == ["the link to x.md leads nowhere"]
