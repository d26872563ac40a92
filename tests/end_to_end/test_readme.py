"""Everything that README.md names exists: files, commands, masters, its picture."""

import re
import shlex
import struct

import sparkdl
from sparkdl import TrainingMaster, cli
from tests.support.pages import ROOT, blocks, read

README = read("README.md")
ROWS = re.findall(r"^\| (.+?) \| (.+?) \|", README, re.MULTILINE)


def code_in(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_each_master_has_its_row():
    named = {name for first, _ in ROWS for name in code_in(first)}
    abstract = {TrainingMaster.__name__}
    assert named == {*sparkdl.masters.__all__} - abstract


def test_ways_to_use_it_are_code_or_commands_that_are_understood():
    spans = [span for _, second in ROWS for span in code_in(second)]
    lines = [span for span in spans if span.startswith("sparkdl ")]
    assert len(lines) == 2 and len(spans) > 7
    for line in lines:
        cli.parser().parse_args(shlex.split(line)[1:])
    for span in set(spans) - {*lines}:
        compile(span, "README.md", "exec")


def test_commands_of_the_build_exist():
    build = (ROOT / "build.py").read_text()
    named = re.findall(r"^python build\.py (\w+)", "\n".join(blocks("README.md", "")), re.MULTILINE)
    assert len(named) == 2 and all(f"def {name}_command(" in build for name in named)


def test_files_that_are_named_exist():
    named = set(re.findall(r"\b(?:conf|notebooks|sparkdl)/[\w/]+\.\w+", README))
    assert len(named) > 20
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_picture_is_small_and_one_that_any_site_shows():
    [path] = re.findall(r"!\[[^\]]{10,}\]\(([^)]+)\)", README)
    picture = (ROOT / path).read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert picture.startswith(b"\x89PNG") and len(picture) < 40_000 and width <= 1000 > height
