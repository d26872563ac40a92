"""Received data cannot run code, and the package does not know Spark."""

import io
import tokenize
from pathlib import Path

import pytest

import sparkdl.exchange
from tests.support.tables import for_all

FORBIDDEN = {"pyspark", "py4j", "pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
FORBIDDEN |= {"allow_pickle", "eval", "exec", "__import__", "import_module"}
FOLDER = Path(sparkdl.exchange.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


def names(source):
    """Returns the names in code, without the harmless `allow_pickle=False`."""
    source = source.replace("allow_pickle=False", "")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


@pytest.mark.slow
def test_no_file_names_what_runs_code_or_spark():
    def check(path):
        assert not names(path.read_text()) & FORBIDDEN

    for_all(FILES, check)


def test_the_files_are_all_there():
    assert {"wire.py", "endpoint.py", "frame.py"} <= {path.name for path in FILES}


def test_a_name_is_seen_where_it_is_code_only():
    source = (
        "'pickle'\n# pickle\ndef f():\n    from numpy import load\n    load(x, allow_pickle=1)\n"
    )
    assert names(source) & FORBIDDEN == {"allow_pickle"}
    assert not names("np.load(path, allow_pickle=False)") & FORBIDDEN
