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
SPARK_MODULE = "jdk.incubator.vector"  # Spark 4 starts its JVM with --add-modules for it
UNFINISHED = "unfinished"
TEXTS = "sparkdl", "notebooks", "conf", "README.md", ".github"  # checked for spelling
FAST = ["-m", "not jvm and not slow"]  # markers of tests: see pyproject.toml
# To collect tests of which each needs a JVM takes seconds.
FAST += [f"--ignore=tests/{name}" for name in ("cluster", "end_to_end", "ml", "spark")]
SPARK_TESTS = "tests/spark", "tests/ml"  # also run on other versions of Spark
TORCH_FILES = "tests/nn/tables/test_table_group.py", "tests/end_to_end/test_pages.py"
TORCH_FILES += ("tests/test_notebook.py",)
KERAS_TESTS = "tests/interop/keras/live"  # run on each of Keras's backends
FRAMEWORK_TESTS = {
    "torch": ("tests/interop/torch", KERAS_TESTS, *TORCH_FILES, "-k", "torch or live"),
    "tensorflow": (KERAS_TESTS,),
}
OTHER_SPARK = (  # pyspark 3.5 leaves sockets to the garbage collector, which warns
    *("-W", "ignore::DeprecationWarning"),
    *("-W", "ignore::pytest.PytestUnraisableExceptionWarning"),
)
ON_THE_CLUSTER = {"pyspark", "py4j"}  # not in the archive: every Spark installation has them
# Nor are files that nothing imports: a quarter of the bytes and half of the files. For each file a
# YARN node starts a program that sets its permissions. Wheels have oneDNN and Arrow three times.
UNUSED = ["*/tests/*", "*/include/*", "*/numpy/*.pyi", "lib/libdnnl.so", "lib/libdnnl.so.3.*"]
UNUSED += ["*/pyarrow/*flight*", "*/pyarrow/*_python*.so", "*/pyarrow/*_python*.so.*.*"]
GZIP_LEVEL = 4  # of the archive
SLOW = {"PYTHONDONTWRITEBYTECODE"}  # else a hundred processes each recompile all modules
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
    """run the tests; --fast: without Spark and clusters; --spark 3.5: only the Spark tests, on that
    version; --torch, --tensorflow: only the tests that need it; other arguments go to pytest"""
    parser = argparse.ArgumentParser(prog="build.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--spark", metavar="VERSION")
    for name in FRAMEWORKS:
        parser.add_argument(f"--{name}", action="store_const", const=name, dest="framework")
    options, rest = parser.parse_known_args(arguments)
    several = "--processes", str(min(os.cpu_count() or 1, 7) + 1)  # more than cores: tests wait
    several += ("--maxfail", "20")  # if a cluster is broken, each test may run into its time limit
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
    if arguments[:1] == ["gpu"]:  # without Spark and .venv, on this Python's CuPy and torch
        raise SystemExit(call(sys.executable, "-m", "tests.benchmarks", *arguments))
    run_with_spark("-m", "tests.benchmarks", *arguments)


def cluster_command(arguments):
    """start a small HDFS and YARN on this machine and say where they are; --help"""
    run_with_spark("-m", "tests.cluster", *arguments)


def docs_command(arguments):
    """build the documentation, dist/docs/index.html, from notebooks/ and the docstrings; --links:
    only check its links to other sites, online"""
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
        call(venv_python(), "-m", "mypy"),  # pyproject.toml lists what it checks
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
    shutil.copyfile(wheel, zipped)  # a wheel is a zip, but spark-submit goes by the extension
    archive = build_archive(wheel, options.with_pyspark, options.python_prefix)
    for made in (wheel, zipped, archive):
        print(f"{made.relative_to(ROOT)}  {made.stat().st_size / 1e6:.1f} MB")


FOR_USE = setup_command, demo_command, test_command, package_command, bench_command
FOR_WORK = cluster_command, docs_command, lint_command, lock_command
COMMANDS = {each.__name__.removesuffix("_command"): each for each in FOR_USE + FOR_WORK}


def parse(command, arguments, epilog="", **options):
    """Parses the arguments of a command. Options are flags (help) or values (placeholder, help)."""
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
    """Replaces this process by the .venv's python, so that signals and exit code are the program's.

    `spark` is a version of Spark to use instead of the pinned one. `framework`, one of FRAMEWORKS,
    is installed in a folder of its own; Keras then computes on it.
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
    """Returns the folder with the newest pyspark of a version such as 3.5, installed if missing."""
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
    """Returns `environ` with workers on the .venv's python, without the user's own Spark, which
    would hide the pinned one, and without settings that slow down the start of processes."""
    python = str(venv_python())
    kept = {name: value for name, value in environ.items() if name not in OWN_SPARK | SLOW}
    fixed = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "PYTHONNOUSERSITE": "1"}
    return {"SPARK_LOCAL_IP": "127.0.0.1", **kept, **fixed}


def call(*command, **options):
    """Runs a command at the root, shows its output and returns its exit code."""
    return subprocess.call([str(part) for part in command], cwd=ROOT, **options)


def must(what, *command, **options):
    code = call(*command, **options)
    if code:
        shown = code if code > 0 else 128 - code  # a signal, numbered as in shells
        fail(f"{what} failed with exit code {shown}; the reason stands above", shown)


def output(*command):
    """Returns the output of a command; "" if it fails."""
    try:
        parts = [str(part) for part in command]
        return subprocess.check_output(parts, stderr=subprocess.STDOUT, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""


# The environment


def setup():
    """Installs the packages of the lock file into .venv, unless its stamp is up to date."""
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
            if stop.code < 128:  # pip itself failed, perhaps offline: .venv is still intact
                stamp().unlink()
            raise
        stamp().write_text(fingerprint())


def is_ready():
    return venv_python().exists() and read(stamp()) == fingerprint()


def stamp():
    return VENV / ".setup"


def fingerprint():
    """Returns a hash of the pinned packages, the project's metadata and the checkout's path."""
    if not LOCK.exists():
        fail(f"{LOCK.name} must stand beside build.py, got none; git checkout {LOCK.name}")
    return hashlib.sha256(LOCK.read_bytes() + PROJECT.read_bytes() + bytes(ROOT)).hexdigest()


def read(path):
    return path.read_text() if path.exists() else ""


@contextlib.contextmanager
def one_setup_at_a_time():
    """Makes a second run wait for the first; the lock is released when its process ends."""
    with open(__file__) as held:
        with contextlib.suppress(ImportError):  # Windows has no fcntl
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def make_venv():
    """Makes .venv; remakes it if it was left unfinished or its Python is gone."""
    if VENV.exists() and (read(stamp()) == UNFINISHED or not has_own_pip()):
        print(f"{VENV.name} is not whole; making it again", flush=True)
        old = VENV.with_name(f"{VENV.name}.old")  # a half-deleted one must not pass for whole
        shutil.rmtree(old, ignore_errors=True)
        VENV.rename(old)
        shutil.rmtree(old, ignore_errors=True)
    if not VENV.exists():
        if importlib.util.find_spec("ensurepip") is None:
            fail("Python must have the module ensurepip, got none; apt install python3-venv")
        VENV.mkdir()
        stamp().write_text(UNFINISHED)
        base = getattr(sys, "_base_executable", sys.executable)  # sys.executable may be in .venv
        must("making .venv", base, "-m", "venv", VENV)


def has_own_pip():
    """Whether .venv has a working pip: without pyvenv.cfg its Python uses the outer one."""
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
    """Refuses a missing, old or reduced Java early, with a sentence that says what to do."""
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
    """Returns the java that Spark will use: JAVA_HOME's, or the first on the PATH."""
    home = environ.get("JAVA_HOME")
    if home:
        java = shutil.which("java", path=str(Path(home, "bin")))
        return java or fail(f"JAVA_HOME must hold bin/java, got {home!r}; {INSTALL_JAVA}")
    return shutil.which("java", path=environ.get("PATH", ""))


def java_version(text):
    """Returns the major version that `java -version` prints: "1.8.0_392" is 8, "21-ea" is 21."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if not match:
        return None
    first, second = match.groups()
    return int(second) if first == "1" and second else int(first)


# The lock file


def lock(upgrade):
    """Writes one pin per package for all systems and Pythons that the project supports."""
    names = "dev", "docs", "notebook", "test"  # gpu would add a gigabyte
    extras = [f"--extra={name}" for name in names]
    options = [*extras, "--universal", "--generate-hashes", "--fork-strategy", "fewest"]
    oldest = ".".join(map(str, OLDEST_PYTHON))
    command = ["pip", "compile", PROJECT.name, "--output-file", LOCK.name, "--quiet", *options]
    header = ["--custom-compile-command", "python build.py lock"]
    more = ["--python-version", oldest, *header, *["--upgrade"] * upgrade]
    must("uv", venv_python(), "-m", "uv", *command, *more)


def pins(text):
    """Returns the blocks of the lock file as (package, lines): pin, hashes and requesters."""
    blocks = re.findall(r"^[A-Za-z0-9].*(?:\n[ \t].*)*", text, flags=re.MULTILINE)
    return [(normal(block), block) for block in blocks]


def requested_by(block):
    return {normal(name) for name in re.findall(r"#\s*(?:via\b)?\s*([\w.-]*)", block) if name}


def runtime_pins(text, wanted):
    """Returns the lines of the lock file for the `wanted` packages and their dependencies."""
    blocks, names, before = pins(text), set(wanted), None
    while names != before:
        before = set(names)
        names |= {name for name, block in blocks if requested_by(block) & names}
    return "\n".join(block for name, block in blocks if name in names) + "\n"


def normal(requirement):
    """Returns the normalized name in a requirement: "PyYAML>=6" gives pyyaml."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement).group()).lower()


# Packages


def project():
    import tomllib  # new in 3.11; older Pythons must get as far as check_python

    return tomllib.loads(PROJECT.read_text())["project"]


def build_wheel():
    must("hatchling", venv_python(), "-m", "hatchling", "build", "-t", "wheel", "-d", DIST)
    return DIST / f"sparkdl_hadoop-{project()['version']}-py3-none-any.whl"


def build_archive(wheel, with_pyspark, python_prefix):
    """Builds a relocatable environment of the wheel and the runtime packages of the lock alone."""
    archive = DIST / f"sparkdl-{project()['version']}-env.tar.gz"
    with tempfile.TemporaryDirectory() as scratch:
        environment = Path(scratch, "environment")
        fill_environment(environment, wheel, set() if with_pyspark else ON_THE_CLUSTER)
        pack = [venv_python(), "-m", "venv_pack", "--quiet", "--force"]
        prefix = ["--python-prefix", python_prefix] if python_prefix else []
        unused = [part for pattern in UNUSED for part in ("--exclude", pattern)]
        given = *prefix, *unused, "--prefix", environment, "--compress-level", str(GZIP_LEVEL)
        must("venv-pack", *pack, *given, "--output", archive)
    archive.chmod(0o644)  # venv-pack makes it readable by its owner only
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
