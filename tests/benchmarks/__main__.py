"""What `python build.py bench NAME` runs: the file of that name here; without one, a list."""

import sys
from ast import get_docstring, parse
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
HELPERS = {"__init__", "__main__", "session", "spark_fit"}


def names():
    """{name of a benchmark: first line of its docstring}"""
    files = sorted(path for path in HERE.glob("*.py") if path.stem not in HELPERS)
    return {path.stem: get_docstring(parse(path.read_text())).splitlines()[0] for path in files}


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
