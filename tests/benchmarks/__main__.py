"""Runs `python build.py bench NAME`, a file or package here; without a name, lists them all."""

import sys
from ast import get_docstring, parse
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
HELPERS = {"__init__", "__main__", "idx", "session", "peers"}


def names():
    """Returns {name of a benchmark: first line of its docstring}."""
    files = {path.stem: path for path in HERE.glob("*.py")}
    files |= {path.parent.name: path for path in HERE.glob("*/__init__.py")}
    named = {name: path for name, path in sorted(files.items()) if name not in HELPERS}
    return {name: first_line(path) for name, path in named.items()}


def first_line(path):
    return get_docstring(parse(path.read_text())).splitlines()[0]


def main(arguments):
    known = names()
    if not arguments or arguments[0] not in known:
        for name, line in known.items():
            print(f"  {name:20} {line}")
        return 0 if not arguments else 2
    import_module(f"tests.benchmarks.{arguments[0]}").main(arguments[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
