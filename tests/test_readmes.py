"""Each folder's README names what is there, and what any README names is there.

A rule is a function that lists what is wrong with a page, so each is also asked about wrong pages.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sparkdl"
GUIDES = ["README.md", ".github/CONTRIBUTING.md", ".github/CHANGELOG.md"]

CODE = {".py", ".cu", ".cuh"}
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
ENDING = r"\.(py|cu|cuh|md|txt|yaml|conf|ipynb|prototxt)"
PLACE = re.compile(rf"(?!/)[\w.*/<>-]*(/|\w{ENDING})")
PLACEHOLDER = re.compile(r"<\w+>")  # as in kernels/source/<family>.cu
FREE = re.compile(r"\w*<\w+>\w*|\"[^\"]*\"|'[^']*'")  # what code may say as it likes
COMMANDS = ("python ", "sparkdl ", "pip ")
WORD = re.compile(r"[A-Za-z_]\w+")
NO_CODE = re.compile(r'"""(?:.|\n)*?"""|(?<!^)#.*$|^#(?!define).*$', re.MULTILINE)


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
        if not found_at(page.folder, place):
            yield f"there is no {place}"


def absent_names(page):
    """Names that stand nowhere in the code, nor in a file that the page names."""
    known = names_in(PACKAGE) | names_at(page, page.places)
    for span in page.names:
        for name in words_of(span):
            if name not in known:
                yield f"there is no {name}, of `{span}`"


def misplaced_names(page):
    """Names in a row of a table that are not in the module or folder of that row."""
    for first, rest in page.rows:
        modules = [place for place in first.places if place.endswith((".py", "/"))]
        there = names_at(page, modules)
        for span in rest.names if there else []:
            for name in words_of(span):
                if name not in there:
                    yield f"{name} is not in {', '.join(modules)}"


def broken_links(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.prose):
        if "://" not in target and not (page.folder / target).exists():
            yield f"the link to {target} leads nowhere"


# Reading pages and code


def is_part(path):
    """Whether a path is a module, or a folder that has code."""
    if path.name.startswith("__"):
        return False
    return path.suffix in CODE or (path.is_dir() and any(f.suffix in CODE for f in path.rglob("*")))


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
    text = path.read_text() if path.suffix in CODE else ""
    return frozenset([*WORD.findall(NO_CODE.sub("", text)), *path.name.split(".")])


def words_of(span):
    """The names in a piece of code."""
    return WORD.findall(FREE.sub("", span))


# The rules asked about the pages that there are

READMES = sorted(path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("README.md"))


def page_at(path):
    return Page((ROOT / path).parent, (ROOT / path).read_text())


@pytest.mark.parametrize(
    "rule", [unnamed_modules, absent_places, absent_names, misplaced_names, broken_links]
)
def test_readmes_keep(rule):
    wrong = [f"{path}: {what}" for path in READMES for what in rule(page_at(path))]
    assert not wrong


@pytest.mark.parametrize("path", GUIDES)
def test_guides_name_what_there_is(path):
    page = page_at(path)
    assert not [*absent_places(page), *broken_links(page)]
