"""The architecture: which parts import which, where outside libraries may be used, file lengths.

A rule is a function that lists violations; each rule is also tested on code that violates it.
"""

import ast
import gc
import graphlib
import statistics
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.import_graph import ImportGraph

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "sparkdl"

ANYTHING = None
MAY_IMPORT = {
    "errors": set(),
    "config": {"errors"},
    "cached_value": set(),
    "error_messages": {"errors"},
    "conflict": set(),
    "html_elements": set(),
    "lazy_names": set(),
    "own_folders": {"errors"},
    "philox": set(),
    "thread_start": {"errors"},
    "engine": {"philox", "own_folders", "config", "errors"},
    "nn": {"engine", "philox", "config", "html_elements", "lazy_names", "errors"},
    "data": {
        "philox",
        "own_folders",
        "config",
        "lazy_names",
        "cached_value",
        "thread_start",
        "errors",
    },
    "exchange": {"own_folders", "config", "error_messages", "thread_start", "errors"},
    "training": {
        "nn",
        "data",
        "exchange",
        "own_folders",
        "config",
        "html_elements",
        "cached_value",
        "error_messages",
        "thread_start",
        "errors",
    },
    "spark": {
        "interop",
        "training",
        "exchange",
        "nn",
        "data",
        "own_folders",
        "config",
        "lazy_names",
        "cached_value",
        "error_messages",
        "thread_start",
        "errors",
    },
    "ml": {"spark", "training", "nn", "data", "config", "lazy_names", "errors"},
    "interop": {"training", "nn", "engine", "data", "config", "errors"},
    "tune": {
        "ml",
        "training",
        "spark",
        "exchange",
        "nn",
        "data",
        "config",
        "lazy_names",
        "html_elements",
        "errors",
    },
    "report": {"training", "spark", "nn", "data", "config", "errors"},
    "commands": {"training", "spark", "exchange", "interop", "nn", "data", "config", "errors"},
    "cli": ANYTHING,
    "__main__": ANYTHING,
    "__init__": ANYTHING,
}
HOME = {
    "pyspark": {"spark", "ml", "tune"},
    "optuna": {"tune"},
    "cudnn": {"engine/backends/cuda/cudnn"},
    "cupy": {"engine/backends/cuda"},
    "llvmlite": {"engine/native"},
    "lmdb": {"data"},
    "h5py": {"data", "interop"},
    "PIL": {"data"},
    "google_crc32c": {"data"},
    "fastavro": {"data"},
    "pyarrow": {"data", "spark"},
    "google.protobuf": {"data", "interop"},
    "onnx": {"interop/onnx"},
    "onnxruntime": {"interop/onnx"},
    "tokenizers": {"spark/text"},
    "torch": {"interop/torch", "interop/keras/live"},
    "cloudpickle": {"interop/live"},  # for functions sent from the driver to its executors
    "ml_dtypes": {"engine"},
    # data/hadoop: only addresses; fork_server: pairs of sockets, to pass files
    "socket": {
        *("exchange", "spark/cluster_check", "data/hadoop"),
        "training/workers/fork_server",
    },
    "selectors": {"exchange"},
    "ssl": {"exchange"},
    "cryptography": {"exchange"},
    "mlflow": {"interop/mlflow"},
    "opentelemetry": {"training/report"},
    "prometheus_client": {"training/report"},
    "tqdm": {"training"},
    "tensorboardX": {"training/report"},
    "safetensors": {"training"},
    "yaml": {"config"},
    "fsspec": {"data"},
    "hdfs": {"data"},
    "hdfs_native": {"data"},
    "requests": {"data"},
    "threadpoolctl": {"training"},
    "keras": {"interop/keras/live"},  # Keras files are read without it
    "jax": {"interop/keras/live"},
    "tensorflow": {"interop/keras/live"},
    "pickle": set(),  # unpickling foreign data could run code
}
# Modules that re-export names for users; no part of sparkdl imports them.
FACE = {
    "nn": "activations clipping constraints initializers layers losses optimizers schedules"
    " solvers weight_noise zoo",
    "data": "readers transforms",
    "exchange": "codecs",
    "interop": "mlflow",
    "training": "evaluations listeners masters",
}
MAY_IMPORT |= {name: {part} for part, names in FACE.items() for name in names.split()}
INNER = {"sparkdl.engine.backends.cuda": "engine/backends/cuda"}
TOP_LEVEL = {"sparkdl", "tests", "notebooks", "conf", "build.py", "pyproject.toml", "README.md"}
TOP_LEVEL |= {"LICENSE"}
TESTS_OF_NO_UNIT = {"chaos", "cluster", "end_to_end", "benchmarks", "notebooks", "oracle"}
TESTS_OF_NO_UNIT |= {"support", "typing"}
LONGEST_FILE, LONGEST_MEDIAN = 400, 120


# The rules; `files` is {path inside sparkdl: source}


def wrong_arrows(files):
    for path, source in files.items():
        unit = unit_of(path)
        if unit not in MAY_IMPORT:
            yield f"{path}: sparkdl.{unit} needs a row in MAY_IMPORT"
            continue
        for target in sorted({inner_unit(name) for name in imports(path, source)} - {None, unit}):
            if MAY_IMPORT[unit] is not ANYTHING and target not in MAY_IMPORT[unit]:
                yield f"{path} imports sparkdl.{target}"


def inner_files(files):
    """Imports of a package's internals from outside; callers use the package in front of it."""
    for path, source in files.items():
        for name in sorted(set(imports(path, source))):
            for package, home in INNER.items():
                if within(name, package, ".") and not within(path.removesuffix(".py"), home, "/"):
                    yield f"{path} imports {name}, which is for sparkdl/{home} alone"


def strayed_libraries(files):
    for path, source in files.items():
        for name in sorted(set(imports(path, source))):
            for library, homes in HOME.items():
                if within(name, library, ".") and not any(
                    within(path.removesuffix(".py"), home, "/") for home in homes
                ):
                    yield f"{path} imports {name}, which may stand in {sorted(homes) or 'no file'}"


def cycle(files):
    """The modules of one import cycle, or nothing. Imports inside functions don't count."""
    modules = {module_of(path) for path in files}
    graph = {}
    for path, source in files.items():
        names = imports(path, source, everywhere=False)
        graph[module_of(path)] = {closest(name, modules) for name in names} - {None}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def circle(files):
    """The modules of one import cycle, imports inside functions included, or nothing."""
    gc.disable()  # it would look through a million nodes again and again, all of which stay
    try:
        graphlib.TopologicalSorter(ImportGraph(files).edges).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    finally:
        gc.enable()
    return []


def long_files(files):
    lengths = {path: source.count("\n") for path, source in files.items()}
    for path, lines in lengths.items():
        if lines > LONGEST_FILE:
            yield f"{path} must have at most {LONGEST_FILE} lines, got {lines}"
    own = [lines for path, lines in lengths.items() if lines and not path.endswith("__init__.py")]
    if own and statistics.median(own) > LONGEST_MEDIAN:
        yield f"the median file must have {LONGEST_MEDIAN} lines, got {statistics.median(own)}"


def bare_folders(files):
    """Folders of modules without __init__.py, which cannot be imported from a --py-files zip."""
    folders = {path.rpartition("/")[0] for path in files}
    for folder in sorted(folders):
        init = f"{folder}/__init__.py".removeprefix("/")
        if init not in files:
            yield f"sparkdl/{init} must exist"


def strangers(paths):
    """Unexpected files at the top level of the checkout, and unexpected folders of tests."""
    for path in paths:
        top, *rest = path.split("/")
        if top not in TOP_LEVEL and not top.startswith("."):
            yield f"{top} does not belong at the top level"
        folders = set(MAY_IMPORT) | TESTS_OF_NO_UNIT
        if top == "tests" and len(rest) > 1 and rest[0] not in folders:
            yield f"tests/{rest[0]} must be named after a part of sparkdl"


# Reading the code


BLOCKS = "body", "orelse", "finalbody", "handlers", "cases"  # fields that hold statements


def imports(path, source, everywhere=True):
    """Full names that a file imports; everywhere=False: only those imported when it is loaded."""
    return imports_of(path, source)[not everywhere]


@cache  # several rules need it
def imports_of(path, source):
    """Returns the full names that a file imports: all, and those imported when it is loaded."""
    tree = ast.parse(source)
    return [
        [name for node in statements(tree, everywhere) for name in imported(path, node)]
        for everywhere in (True, False)
    ]


def imported(path, node):
    """Returns the full names that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{origin(path, node)}.{alias.name}" for alias in node.names]
    return []


def statements(tree, everywhere):
    """Yields a module's statements; everywhere=False: only those that run when it is loaded."""
    waiting = [tree]
    for node in waiting:
        children = [child for block in BLOCKS for child in getattr(node, block, ())]
        waiting += children if everywhere else filter(runs_on_import, children)
        yield node


def runs_on_import(node):
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))


def origin(path, node):
    """The absolute module that an import-from names."""
    if not node.level:
        return node.module
    package = ["sparkdl", *path.split("/")][: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def unit_of(path):
    return path.split("/")[0].removesuffix(".py")


def inner_unit(name):
    """The part of sparkdl that a name belongs to; None for outside names."""
    package, _, rest = name.partition(".")
    return rest.partition(".")[0] if package == "sparkdl" else None


def module_of(path):
    return ".".join(["sparkdl", *path.removesuffix(".py").split("/")]).removesuffix(".__init__")


def closest(name, modules):
    """The module that an imported name is or lives in."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


def within(name, whole, separator):
    return name == whole or name.startswith(whole + separator)


# The rules applied to sparkdl

RULES = [wrong_arrows, inner_files, strayed_libraries, cycle, circle, long_files, bare_folders]


@pytest.fixture(scope="module")
def files():
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in paths}


@pytest.mark.parametrize("rule", RULES)
def test_sparkdl_keeps(rule, files):
    broken = list(rule(files))
    assert not broken


def test_checkout_holds_no_strangers():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert not list(strangers(listed.stdout.split("\n")[:-1]))


# The rules applied to code that violates them

ARROWS = [
    ("engine/graph.py", "from sparkdl.nn import layers", "imports sparkdl.nn"),
    ("engine/graph.py", "from sparkdl import nn", "imports sparkdl.nn"),
    ("engine/ops/conv.py", "from ...nn import layers", "imports sparkdl.nn"),
    ("data/batch.py", "def f():\n    import sparkdl.engine", "imports sparkdl.engine"),
    ("training/steps.py", "from sparkdl.engine import ops", "imports sparkdl.engine"),
    ("spark/workers.py", "from sparkdl import SparkNetwork", "imports sparkdl.SparkNetwork"),
    ("news/a.py", "", "needs a row"),
]
STRAYS = [
    ("training/a.py", "import pyspark.sql"),
    ("engine/backends/onednn/a.py", "import cupy"),
    ("sparkly.py", "import pyspark"),
    ("nn/a.py", "from google.protobuf import message"),
    ("nn/a.py", "from google import protobuf"),
    ("exchange/a.py", "def f():\n    from pickle import loads"),
]
SOUND = [
    ("engine/graph.py", "from sparkdl.errors import ShapeError"),
    ("engine/ops/conv.py", "from .shape import reshape"),
    ("cli.py", "from sparkdl.spark import SparkNetwork"),
    ("engine/backends/cuda/a.py", "import cupy"),
    ("data/readers/lmdb.py", "import lmdb\nfrom google.protobuf import message"),
]


@pytest.mark.parametrize("path, source, complaint", ARROWS)
def test_a_wrong_arrow_is_seen(path, source, complaint):
    [found] = wrong_arrows({path: source})
    assert complaint in found


INTRUDERS = [
    "from sparkdl.engine.backends.cuda.device.gpu_selection import absent",
    "from sparkdl.engine.backends import cuda",
    "def f():\n    import sparkdl.engine.backends.cuda",
]


@pytest.mark.parametrize("source", INTRUDERS)
def test_an_import_of_a_package_s_own_files_is_seen(source):
    for path in ("nn/device.py", "engine/backends/base.py"):
        assert len(list(inner_files({path: source}))) == 1
    assert not list(inner_files({"engine/backends/cuda/backend.py": source}))


@pytest.mark.parametrize("path, source", STRAYS)
def test_a_strayed_library_is_seen(path, source):
    assert len(list(strayed_libraries({path: source}))) == 1


@pytest.mark.parametrize("path, source", SOUND)
def test_sound_code_passes(path, source):
    assert not [*wrong_arrows({path: source}), *strayed_libraries({path: source})]


def test_a_cycle_is_seen():
    loop = {"nn/a.py": "from sparkdl.nn.b import f", "nn/b.py": "from sparkdl.nn import a"}
    assert set(cycle(loop)) == {"sparkdl.nn.a", "sparkdl.nn.b"}


def test_a_cycle_through_a_package_is_seen():
    assert cycle(
        {"nn/__init__.py": "from sparkdl.nn.a import f", "nn/a.py": "from sparkdl.nn import f"}
    )


@pytest.mark.parametrize("late", ["def f():\n    ", "if TYPE_CHECKING:\n    "])
def test_a_late_import_closes_no_cycle(late):
    assert not cycle({"nn/a.py": "import sparkdl.nn.b", "nn/b.py": f"{late}import sparkdl.nn.a"})


CIRCLES = {
    "at the top": "from sparkdl.nn.a import f",
    "in a function": "def f():\n    from sparkdl.nn.a import f",
    "relative": "def f():\n    from .a import f",
    "of a module": "def f():\n    import sparkdl.nn.a",
    "through a package": "from sparkdl.nn import f",
    "through a package, renamed": "from sparkdl.nn import f as g",
    "by an attribute": "from sparkdl import nn\ndef f():\n    return nn.f(1)",
    "by the full name": "import sparkdl.nn\ndef f():\n    return sparkdl.nn.a.f(1)",
    "by a whole package": "from sparkdl import nn\ndef f():\n    return vars(nn)",
}


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_of_files_is_seen(name):
    files = {"nn/__init__.py": "from sparkdl.nn.a import f", "nn/a.py": "import sparkdl.nn.b"}
    found = circle(files | {"__init__.py": "", "nn/b.py": CIRCLES[name]})
    assert {"sparkdl.nn.a", "sparkdl.nn.b"} <= set(found)


@pytest.mark.parametrize(
    "source",
    [
        "from sparkdl.nn import g",
        "from sparkdl import nn\nnn.g()",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sparkdl.nn.a import f",
    ],
)
def test_what_another_file_of_the_package_defines_closes_no_circle(source):
    files = {"nn/__init__.py": "from sparkdl.nn.a import f\nfrom sparkdl.nn.c import g"}
    files |= {"__init__.py": "", "nn/a.py": "import sparkdl.nn.b", "nn/c.py": ""}
    assert not circle(files | {"nn/b.py": source})


def test_a_circle_through_names_that_a_package_loads_late_is_seen():
    files = {"__init__.py": "", "nn/__init__.py": 'EXPORTS = {"sparkdl.nn.a": "f g"}'}
    files |= {"nn/a.py": "import sparkdl.nn.b", "nn/b.py": "from sparkdl.nn import g"}
    assert {"sparkdl.nn.a", "sparkdl.nn.b"} <= set(circle(files))


def test_a_long_file_is_seen():
    [found] = long_files({"nn/a.py": "x\n" * 401, "nn/b.py": "x\n", "nn/c.py": "x\n"})
    assert "nn/a.py must have at most 400 lines, got 401" in found


def test_a_long_median_is_seen_whatever_init_files_add():
    files = {"nn/a.py": "x\n" * 121, **{f"n{i}/__init__.py": "" for i in range(9)}}
    [found] = long_files(files)
    assert "median" in found


def test_a_bare_folder_is_seen():
    assert list(bare_folders({"__init__.py": "", "nn/a.py": ""})) == [
        "sparkdl/nn/__init__.py must exist"
    ]


@pytest.mark.parametrize("path", ["setup.cfg", "docs/index.md", "tests/misc/test_a.py"])
def test_a_stranger_is_seen(path):
    assert len(list(strangers([path, "README.md", ".gitignore", "tests/test_a.py"]))) == 1
