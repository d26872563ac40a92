"""What importing sparkdl.data loads in an executor, and where it can be imported from."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Replaces sparkdl by a bare package, since its own __init__ imports every part.
ALONE = """
import sys, types
bare = types.ModuleType("sparkdl")
bare.__path__ = [sys.argv[1] + "/sparkdl"]
sys.modules["sparkdl"] = bare
if sys.argv[1].endswith(".zip"):
    sys.path.insert(0, sys.argv[1])
import sparkdl.data
"""


def run(code, place):
    command = [sys.executable, "-c", ALONE + code, str(place)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_neither_spark_nor_a_test_library_is_imported():
    code = "print({'pyspark', 'jax', 'scipy', 'sklearn', 'pandas'} & set(sys.modules))"
    assert run(code, ROOT) == "set()"


def test_digits_are_found_in_a_zip(tmp_path):
    with zipfile.ZipFile(tmp_path / "sparkdl.zip", "w") as file:
        for below in ("errors.py", "lazy_names.py", "philox.py"):
            file.write(ROOT / "sparkdl" / below, f"sparkdl/{below}")
        for part in ("config", "data"):
            for path in sorted((ROOT / "sparkdl" / part).rglob("*.*")):
                if path.suffix in (".py", ".gz"):
                    file.write(path, path.relative_to(ROOT))
    code = "print(sparkdl.data.__file__, len(sparkdl.data.digits('test')))"
    assert run(code, tmp_path / "sparkdl.zip").endswith(".zip/sparkdl/data/__init__.py 2000")
