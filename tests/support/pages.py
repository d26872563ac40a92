"""The pages for users, README.md and those in notebooks/, and the blocks of code in them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "notebooks"
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages():
    """Paths of all pages, as they stand below the root: README.md first."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))
    return ["README.md", *found]


def read(page):
    return (ROOT / page).read_text()


def blocks(page, language):
    """The fenced blocks of a language, "" for those that name none."""
    return [text for name, text in FENCED.findall(read(page)) if name.strip() == language]


def commands(page):
    """The commands of sparkdl in its blocks, a line for each."""
    text = "\n".join([*blocks(page, ""), *blocks(page, "bash")]).replace("\\\n", " ")
    return [line.partition("#")[0] for line in text.splitlines() if line.startswith("sparkdl ")]
