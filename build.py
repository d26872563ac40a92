#!/usr/bin/env python3
"""Sets up, runs, tests and packages sparkdl; needs Python 3.11 or newer and nothing else.

Usage: python build.py COMMAND [arguments]
"""

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
LOCK = ROOT / ".requirements.lock"
PROJECT = ROOT / "pyproject.toml"
DIST = ROOT / "dist"
DOCS = DIST / "docs"
SPARKS = ROOT / ".spark"  # other versions of Spark than the pinned one
FRAMEWORKS = {"torch": ROOT / ".torch", "tensorflow": ROOT / ".tensorflow"}  # for their tests

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
SPARK_MODULE = "jdk.incubator.vector"  # Spark 4 starts its JVM with --add-modules of this one
UNFINISHED = "unfinished"
TEXTS = "sparkdl", "notebooks", "conf", "README.md", ".github"  # to spell
FAST = ["-m", "not jvm and not slow"]  # markers of tests: see pyproject.toml
SPARK_TESTS = "tests/spark", "tests/ml"  # what runs on another version of Spark, too
TORCH_FILES = "tests/nn/tables/test_table_group.py", "tests/end_to_end/test_pages.py"
TORCH_FILES += ("tests/test_notebook.py",)
KERAS_TESTS = "tests/interop/keras/live"  # whose models compute on any of Keras's backends
FRAMEWORK_TESTS = {
    "torch": ("tests/interop/torch", KERAS_TESTS, *TORCH_FILES, "-k", "torch or live"),
    "tensorflow": (KERAS_TESTS,),
}
OTHER_SPARK = (  # warnings of pyspark 3.5 itself, which leaves sockets to the collector
    *("-W", "ignore::DeprecationWarning"),
    *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
)
ON_THE_CLUSTER = {"pyspark", "py4j"}  # left out of the archive: every Spark installation has them
# Nor is there what nothing imports: a quarter, and half of the files, each of which a node of YARN
# sets the rights of by a program. Wheels hold the libraries of oneDNN and Arrow three times.
UNUSED = ["*/tests/*", "*/include/*", "*/numpy/*.pyi", "lib/libdnnl.so", "lib/libdnnl.so.3.*"]
UNUSED += ["*/pyarrow/*flight*", "*/pyarrow/*_python*.so", "*/pyarrow/*_python*.so.*.*"]
SLOW = {"PYTHONDONTWRITEBYTECODE"}  # each of a hundred processes would compile all modules again
OWN_SPARK = {"SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYTHONPATH"}
INSTALL_JAVA = (
    "install a JDK (apt install openjdk-17-jdk-headless, dnf install java-17-openjdk-devel, "
    "brew install openjdk@17) and let JAVA_HOME point to it"
)


def main(arguments):
    check_python(sys.version_info)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        fail(f"command must be one of {', '.join(COMMANDS)}, got {name!r}", code=2)
    COMMANDS[name](rest)


def usage():
    width = max(map(len, COMMANDS))
    rows = [f"  {name:{width}}  {command.__doc__}" for name, command in COMMANDS.items()]
    return "\n".join([__doc__, "Commands:", *rows])


def fail(sentence, code=1):
    print(f"build.py: {sentence}", file=sys.stderr)
    raise SystemExit(code)


def check_python(version):
    if tuple(version[:2]) < OLDEST_PYTHON:
        found = ".".join(map(str, version[:3]))
        fail(f"Python must be 3.11 or newer, got {found}; run build.py with python3.11 or later")


# The commands


def setup_command(arguments):
    """make .venv and install the pinned packages (at once if nothing changed)"""
    parse(setup_command, arguments)
    setup()
    print(f"{VENV.name} is ready")


def demo_command(arguments):
    """train a small network on this machine's Spark; arguments go to sparkdl demo"""
    run_with_spark("-m", "sparkdl", "demo", *arguments)


def test_command(arguments):
    """run the tests; --fast: without those of Spark and clusters; --spark 3.5: those of Spark, on
    that version of it; --torch, --tensorflow: those that need it; the rest goes to pytest"""
    parser = argparse.ArgumentParser(prog="build.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--spark", metavar="VERSION")
    for name in FRAMEWORKS:
        parser.add_argument(f"--{name}", action="store_const", const=name, dest="framework")
    options, rest = parser.parse_known_args(arguments)
    several = "--processes", str(min(os.cpu_count() or 1, 7) + 1)  # more than cores, as tests wait
    several += ("--maxfail", "20")  # where a cluster is broken, each test may take its time limit
    command = "-m", "pytest", *FAST * options.fast
    if options.framework:
        rest = rest or [*several, *FRAMEWORK_TESTS[options.framework]]
        run_with_spark(*command, *rest, framework=options.framework)
    elif options.spark is None:
        run_with_spark(*command, *(rest or several))
    else:
        rest = rest or [*several, *SPARK_TESTS]
        run_with_spark(*command, *OTHER_SPARK, *rest, spark=options.spark)


def bench_command(arguments):
    """time sparkdl: bench [name] [arguments]; without a name it lists them"""
    if arguments[:1] == ["gpu"]:  # without Spark and .venv, by this Python's own CuPy and torch
        raise SystemExit(call(sys.executable, "-m", "tests.benchmarks", *arguments))
    run_with_spark("-m", "tests.benchmarks", *arguments)


def cluster_command(arguments):
    """start a small HDFS and YARN on this machine and say where they are; --help"""
    run_with_spark("-m", "tests.cluster", *arguments)


def docs_command(arguments):
    """make the documentation, dist/docs/index.html, of notebooks/ and the docstrings; --links:
    ask the internet whether what it links to is there"""
    links = parse(docs_command, arguments, links="only check links to other sites, online").links
    setup()
    if links:
        with tempfile.TemporaryDirectory() as scratch:
            sphinx("--builder", "linkcheck", "notebooks", scratch)
        return
    shutil.rmtree(DOCS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        sphinx("--doctree-dir", scratch, "--fail-on-warning", "notebooks", DOCS)
    print(f"{DOCS.relative_to(ROOT)}/index.html")


def sphinx(*arguments):
    quietly = "--quiet", "--keep-going", "--jobs", "auto"
    must("sphinx", venv_python(), "-m", "sphinx", *quietly, *arguments)


def lint_command(arguments):
    """check style, format, types and spelling (--fix repairs what can be repaired)"""
    fix = parse(lint_command, arguments, fix="repair and reformat").fix
    setup()
    places = ["sparkdl", "tests", "build.py", "notebooks/conf.py"]
    checks = [
        call(venv_python(), "-m", "ruff", "check", *["--fix"] * fix, *places),
        call(venv_python(), "-m", "ruff", "format", *["--check"] * (not fix), *places),
        call(venv_python(), "-m", "mypy"),  # what it checks stands in pyproject.toml
        call(venv_python(), "-m", "codespell_lib", *TEXTS),
    ]
    raise SystemExit(max(checks))


def lock_command(arguments):
    """pin all packages in .requirements.lock again (--upgrade takes the newest)"""
    upgrade = parse(lock_command, arguments, upgrade="take the newest").upgrade
    setup()
    lock(upgrade)
    print(f"wrote {LOCK.name}; python build.py setup installs it")


def package_command(arguments):
    """put a wheel, a zip for --py-files and an environment for --archives into dist/"""
    options = parse(
        package_command,
        arguments,
        "The environment fits machines of this one's kind: system, processor, Python.",
        with_pyspark="put pyspark in too; it is left out, as clusters bring their own",
        python_prefix=("FOLDER", "where the cluster has Python, such as /usr; else as here"),
    )
    setup()
    wheel = build_wheel()
    zipped = DIST / f"sparkdl-{project()['version']}-pyfiles.zip"
    shutil.copyfile(wheel, zipped)  # a wheel is a zip, but spark-submit goes by the name
    archive = build_archive(wheel, options.with_pyspark, options.python_prefix)
    for made in (wheel, zipped, archive):
        print(f"{made.relative_to(ROOT)}  {made.stat().st_size / 1e6:.1f} MB")


FOR_USE = setup_command, demo_command, test_command, package_command, bench_command
FOR_WORK = cluster_command, docs_command, lint_command, lock_command
COMMANDS = {each.__name__.removesuffix("_command"): each for each in FOR_USE + FOR_WORK}


def parse(command, arguments, epilog="", **options):
    """The options of a command: a flag for each text, a value for each (placeholder, text)."""
    name = command.__name__.removesuffix("_command")
    about = {"description": command.__doc__, "epilog": epilog}
    parser = argparse.ArgumentParser(prog=f"build.py {name}", **about)
    for option, text in options.items():
        kind = {"action": "store_true", "help": text}
        if isinstance(text, tuple):
            kind = dict(zip(("metavar", "help"), text, strict=True))
        parser.add_argument(f"--{option.replace('_', '-')}", **kind)
    return parser.parse_args(arguments)


# Running things


def run_with_spark(*arguments, spark=None, framework=None):
    """Become the .venv's python, so that signals and the exit code are the program's own.

    `spark` is the version of another Spark than the pinned one, which then stands before it.
    `framework` is one of FRAMEWORKS, each in a folder of its own, on which Keras then computes.
    """
    check_java(os.environ)
    setup()
    python, environment = str(venv_python()), spark_environment(os.environ)
    if spark is not None:
        environment["PYTHONPATH"] = str(install_spark(spark))
    if framework is not None:
        folder = FRAMEWORKS[framework]
        install = python, "-m", "tests.support.framework_packages", framework, folder
        must(f"installing {framework}", *install)
        environment |= {"PYTHONPATH": str(folder), "KERAS_BACKEND": framework}
    sys.stdout.flush()
    if os.name == "nt":
        raise SystemExit(call(python, *arguments, env=environment))
    os.chdir(ROOT)
    os.execve(python, [python, *arguments], environment)


def install_spark(version):
    """The folder with the newest pyspark of a version such as 3.5; installed if it is not there."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", version):
        fail(f"--spark must be a version such as 3.5 or 3.5.9, got {version!r}", code=2)
    folder = SPARKS / version
    if not (folder / UNFINISHED).exists() and (folder / "pyspark").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / UNFINISHED).touch()
    wanted = f"pyspark=={version}" + ".*" * (version.count(".") == 1)
    pip = venv_python(), "-m", "pip", "install", "--quiet", "--target", folder, wanted
    must(f"installing {wanted}", *pip)
    (folder / UNFINISHED).unlink()
    return folder


def spark_environment(environ):
    """`environ` with workers on the .venv's python, without the user's own Spark, which would
    stand before the pinned one, and without what makes processes slow to start."""
    python = str(venv_python())
    kept = {name: value for name, value in environ.items() if name not in OWN_SPARK | SLOW}
    fixed = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "PYTHONNOUSERSITE": "1"}
    return {"SPARK_LOCAL_IP": "127.0.0.1", **kept, **fixed}


def call(*command, **options):
    """The exit code of a command, run at the root; what it prints is shown."""
    return subprocess.call([str(part) for part in command], cwd=ROOT, **options)


def must(what, *command, **options):
    code = call(*command, **options)
    if code:
        shown = code if code > 0 else 128 - code  # a signal, numbered as shells do
        fail(f"{what} failed with exit code {shown}; the reason stands above", shown)


def output(*command):
    """Returns what a command prints, or nothing if it cannot run."""
    try:
        parts = [str(part) for part in command]
        return subprocess.check_output(parts, stderr=subprocess.STDOUT, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""


# The environment


def setup():
    """Bring .venv to what the lock file says; a matching stamp means there is nothing to do."""
    if is_ready():
        return
    with one_setup_at_a_time():
        if is_ready():
            return
        make_venv()
        stamp().write_text(UNFINISHED)
        try:
            install()
        except SystemExit as stop:
            if stop.code < 128:  # pip gave up by itself, offline perhaps: what there was is whole
                stamp().unlink()
            raise
        stamp().write_text(fingerprint())


def is_ready():
    return venv_python().exists() and read(stamp()) == fingerprint()


def stamp():
    return VENV / ".setup"


def fingerprint():
    """Changes when the pinned packages, the project's metadata or the place of the checkout do."""
    if not LOCK.exists():
        fail(f"{LOCK.name} must stand beside build.py, got none; git checkout {LOCK.name}")
    return hashlib.sha256(LOCK.read_bytes() + PROJECT.read_bytes() + bytes(ROOT)).hexdigest()


def read(path):
    return path.read_text() if path.exists() else ""


@contextlib.contextmanager
def one_setup_at_a_time():
    """A second run waits for the first; the lock goes away with its process, so none stays."""
    with open(__file__) as held:
        with contextlib.suppress(ImportError):  # Windows has no fcntl
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def make_venv():
    """A working .venv; one that was left half made, or whose Python is gone, is made again."""
    if VENV.exists() and (read(stamp()) == UNFINISHED or not has_own_pip()):
        print(f"{VENV.name} is not whole; making it again", flush=True)
        old = VENV.with_name(f"{VENV.name}.old")  # so that no half of it is taken for a whole one
        shutil.rmtree(old, ignore_errors=True)
        VENV.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    if not VENV.exists():
        if importlib.util.find_spec("ensurepip") is None:
            fail("Python must have the module ensurepip, got none; apt install python3-venv")
        VENV.mkdir()
        stamp().write_text(UNFINISHED)
        base = getattr(sys, "_base_executable", sys.executable)  # sys.executable may lie in .venv
        must("making .venv", base, "-m", "venv", VENV)


def has_own_pip():
    """Whether .venv has a working pip: without pyvenv.cfg its Python has the one outside."""
    code = "import pip, sys; print(pip if sys.prefix != sys.base_prefix else '')"
    return bool(output(venv_python(), "-c", code).strip())


def install():
    count = len(pins(LOCK.read_text()))
    print(f"installing {count} pinned packages into {VENV.name}, minutes at first", flush=True)
    pip_install("--require-hashes", "-r", LOCK)
    pip_install("--no-deps", "--no-build-isolation", "-e", ROOT)


def pip_install(*arguments, into=None):
    target = ["--python", into] if into else []
    pip = [venv_python(), "-m", "pip", "--disable-pip-version-check", *target, "install"]
    environment = {**os.environ, "PYTHONNOUSERSITE": "1"}
    must("pip", *pip, "--quiet", "--no-user", *arguments, env=environment)


def venv_python(venv=None):
    folder, name = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return (venv or VENV) / folder / name


# Java


def check_java(environ):
    """Refuse a missing, old or reduced Java here, where one sentence can say what to do."""
    java = find_java(environ)
    if not java:
        fail(f"Spark needs Java {OLDEST_JAVA} or newer, found none; {INSTALL_JAVA}")
    found = java_version(output(java, "-version"))
    if not found:
        fail(f"Java must answer to -version, {java} does not; {INSTALL_JAVA}")
    if found < OLDEST_JAVA:
        fail(f"Java must be {OLDEST_JAVA} or newer, got {found} ({java}); {INSTALL_JAVA}")
    if SPARK_MODULE not in output(java, "--list-modules"):
        fail(f"Java must have the module {SPARK_MODULE}, {java} is reduced; {INSTALL_JAVA}")


def find_java(environ):
    """The java that Spark will take: JAVA_HOME's, or the first on the PATH."""
    home = environ.get("JAVA_HOME")
    if home:
        java = shutil.which("java", path=str(Path(home, "bin")))
        return java or fail(f"JAVA_HOME must hold bin/java, got {home!r}; {INSTALL_JAVA}")
    return shutil.which("java", path=environ.get("PATH", ""))


def java_version(text):
    """Major version in the output of `java -version`: "1.8.0_392" is 8, "21-ea" is 21."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if not match:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


# The lock file


def lock(upgrade):
    """One pin per package for every system and Python that the project supports."""
    names = "dev", "docs", "notebook", "test"  # no gpu: a gigabyte
    extras = [f"--extra={name}" for name in names]
    options = [*extras, "--universal", "--generate-hashes", "--fork-strategy", "fewest"]
    oldest = ".".join(map(str, OLDEST_PYTHON))
    command = ["pip", "compile", PROJECT.name, "--output-file", LOCK.name, "--quiet", *options]
    header = ["--custom-compile-command", "python build.py lock"]
    more = ["--python-version", oldest, *header, *["--upgrade"] * upgrade]
    must("uv", venv_python(), "-m", "uv", *command, *more)


def pins(text):
    """Blocks of the lock file, each (package, lines): its pin, its hashes, who asked for it."""
    blocks = re.findall(r"^[A-Za-z0-9].*(?:\n[ \t].*)*", text, flags=re.MULTILINE)
    return [(normal(block), block) for block in blocks]


def requested_by(block):
    return {normal(name) for name in re.findall(r"#\s*(?:via\b)?\s*([\w.-]*)", block) if name}


def runtime_pins(text, wanted):
    """The part of the lock file that `wanted` packages and what they ask for need."""
    blocks, names, before = pins(text), set(wanted), None
    while names != before:
        before = set(names)
        names |= {name for name, block in blocks if requested_by(block) & names}
    return "\n".join(block for name, block in blocks if name in names) + "\n"


def normal(requirement):
    """The name in a requirement, spelled as the index does: "PyYAML>=6" is pyyaml."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()


# Packages


def project():
    import tomllib  # new in 3.11; an older Python is still to be told so by check_python

    return tomllib.loads(PROJECT.read_text())["project"]


def build_wheel():
    must("hatchling", venv_python(), "-m", "hatchling", "build", "-t", "wheel", "-d", DIST)
    return DIST / f"sparkdl_hadoop-{project()['version']}-py3-none-any.whl"


def build_archive(wheel, with_pyspark, python_prefix):
    """A relocatable environment: the runtime part of the lock and the wheel, nothing else."""
    archive = DIST / f"sparkdl-{project()['version']}-env.tar.gz"
    with tempfile.TemporaryDirectory() as scratch:
        environment = Path(scratch, "environment")
        fill_environment(environment, wheel, set() if with_pyspark else ON_THE_CLUSTER)
        pack = [venv_python(), "-m", "venv_pack", "--quiet", "--force"]
        prefix = ["--python-prefix", python_prefix] if python_prefix else []
        unused = [part for pattern in UNUSED for part in ("--exclude", pattern)]
        given = *prefix, *unused, "--prefix", environment
        must("venv-pack", *pack, *given, "--output", archive)
    archive.chmod(0o644)  # venv-pack leaves it readable by its owner only
    return archive


def fill_environment(environment, wheel, left_out):
    print("installing the runtime packages for the archive", flush=True)
    must("making an environment", venv_python(), "-m", "venv", "--without-pip", environment)
    requirements = environment / "requirements.lock"
    requirements.write_text(requirements_without(left_out))
    python = venv_python(environment)
    pip_install("--require-hashes", "--no-deps", "-r", requirements, into=python)
    pip_install("--no-deps", wheel, into=python)


def requirements_without(left_out):
    wanted = {normal(each) for each in project()["dependencies"]} - left_out
    return runtime_pins(LOCK.read_text(), wanted)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(130) from None
