"""The user pages, README.md and those in notebooks/, and their code blocks."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "notebooks"
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages():
    """Returns the paths of all pages relative to the root, README.md first."""
    found = sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))
    return ["README.md", *found]


def read(page):
    return (ROOT / page).read_text()


def blocks(page, language):
    """Returns the fenced blocks of a language; "" selects those without one."""
    return [text for name, text in FENCED.findall(read(page)) if name.strip() == language]


def commands(page):
    """Returns the sparkdl commands in a page's blocks, one per line."""
    text = "\n".join([*blocks(page, ""), *blocks(page, "bash")]).replace("\\\n", " ")
    return [line.partition("#")[0] for line in text.splitlines() if line.startswith("sparkdl ")]
