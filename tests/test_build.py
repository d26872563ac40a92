"""What build.py decides before it installs or starts anything, without network or Spark."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import lanes

ROOT = Path(__file__).resolve().parent.parent
NEW_PYTHONS = [(3, 11, 0), (3, 14, 2), (4, 0, 0)]
OLD_PYTHONS = [(2, 7, 18), (3, 6, 15), (3, 10, 13)]


@pytest.fixture
def build():
    """A fresh module of build.py, whose paths a test may change."""
    spec = importlib.util.spec_from_file_location("sparkdl_build", ROOT / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(build, tmp_path, monkeypatch):
    """An empty checkout whose pip and venv only record their calls."""
    (tmp_path / ".requirements.lock").write_text("numpy==2.4.6 \\\n    --hash=sha256:00\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    places = {"ROOT": ".", "VENV": ".venv", "LOCK": ".requirements.lock"}
    for name, place in {**places, "PROJECT": "pyproject.toml"}.items():
        monkeypatch.setattr(build, name, tmp_path / place)
    build.done, build.real_output = [], build.output
    monkeypatch.setattr(build, "call", lambda *command, **options: pretend(build, command))
    monkeypatch.setattr(build, "output", lambda *command: "pip 26")
    return tmp_path


def pretend(build, command):
    build.done.append("venv" if "venv" in command else "pip")
    build.venv_python().parent.mkdir(exist_ok=True)
    build.venv_python().touch()
    return 0


def refusal(capsys, function, *arguments):
    with pytest.raises(SystemExit) as stop:
        function(*arguments)
    assert stop.value.code != 0
    message = capsys.readouterr().err
    assert message.count("\n") == 1, "one sentence"
    return message


# Commands


def test_help_lists_every_command(build, capsys):
    build.main(["--help"])
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in build.COMMANDS)
    commands = {"setup", "demo", "test", "package", "bench", "cluster", "docs", "lint", "lock"}
    assert set(build.COMMANDS) == commands


def test_help_runs_from_anywhere_without_the_environment(tmp_path):
    command = [sys.executable, "-S", ROOT / "build.py"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "python build.py COMMAND" in shown.stdout


def test_unknown_command_is_refused(build, capsys):
    assert "command must be one of setup, demo" in refusal(capsys, build.main, ["instal"])


@pytest.mark.parametrize("version", NEW_PYTHONS)
def test_new_python_passes(build, version):
    build.check_python(version)


@pytest.mark.parametrize("version", OLD_PYTHONS)
def test_old_python_is_refused(build, version, capsys):
    found = ".".join(map(str, version))
    message = refusal(capsys, build.check_python, version)
    assert f"Python must be 3.11 or newer, got {found}; run" in message


# Setting up


def test_second_setup_does_nothing(build, checkout):
    build.setup()
    assert build.done == ["venv", "pip", "pip"]
    build.setup()
    assert build.done == ["venv", "pip", "pip"]


@pytest.mark.parametrize("name", [".requirements.lock", "pyproject.toml"])
def test_a_change_is_installed_into_the_environment_there_is(build, checkout, name):
    build.setup()
    with open(checkout / name, "a") as file:
        file.write("\n")
    build.done.clear()
    build.setup()
    assert build.done == ["pip", "pip"]


def test_an_interrupted_setup_is_done_again_from_the_start(build, checkout, monkeypatch):
    half = checkout / ".venv" / "half-installed"

    def interrupt():
        half.touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted, pytest.raises(KeyboardInterrupt):
        interrupted.setattr(build, "install", interrupt)
        build.setup()
    build.setup()
    assert not half.exists()
    assert build.is_ready()


def test_what_is_left_of_an_environment_is_made_again(build, checkout, monkeypatch):
    base = sys._base_executable  # its pip works without pyvenv.cfg
    subprocess.run([base, "-m", "venv", "--without-pip", build.VENV], check=True)
    monkeypatch.setattr(build, "output", build.real_output)
    (build.VENV / "pyvenv.cfg").unlink()
    build.setup()
    assert build.done == ["venv", "pip", "pip"]
    assert {path.name for path in build.VENV.iterdir()} == {".setup", "bin"}
    assert not build.VENV.with_name(".venv.old").exists()


@pytest.mark.parametrize("code, kept", [(1, True), (-9, False)])
def test_only_a_killed_pip_costs_the_environment(build, checkout, monkeypatch, capsys, code, kept):
    build.setup()
    build.LOCK.write_text("numpy==2.5.0\n")
    with monkeypatch.context() as broken:
        broken.setattr(build, "call", lambda *command, **options: code)
        refusal(capsys, build.setup)
    build.done.clear()
    build.setup()
    assert build.done == (["pip", "pip"] if kept else ["venv", "pip", "pip"])


def test_a_moved_checkout_is_set_up_again(build, checkout, monkeypatch):
    build.setup()
    before = build.fingerprint()
    monkeypatch.setattr(build, "ROOT", checkout / "elsewhere")
    assert build.fingerprint() != before


def test_a_missing_lock_is_refused(build, checkout, capsys):
    build.setup()
    build.LOCK.unlink()
    assert "git checkout .requirements.lock" in refusal(capsys, build.setup)


# Java


@pytest.mark.parametrize(
    "text, version",
    [
        ('java version "1.8.0_392"', 8),
        ('openjdk version "11.0.22" 2024-01-16', 11),
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', 17),
        ('openjdk version "17" 2021-09-14', 17),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('Picked up _JAVA_OPTIONS: -Xmx1g\nopenjdk version "25.0.1"', 25),
        ("Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_java_version(build, text, version):
    assert build.java_version(text) == version


@pytest.fixture
def java_home(tmp_path):
    """A JAVA_HOME whose java prints a given text."""

    def make(version, modules):
        java = tmp_path / "bin" / "java"
        java.parent.mkdir()
        says = (
            f"""#!/bin/sh\ncase $1 in -version) echo '{version}' >&2;; *) echo {modules};; esac\n"""
        )
        java.write_text(says)
        java.chmod(0o755)
        return {"JAVA_HOME": str(tmp_path)}

    return make


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for java is a shell script")
@pytest.mark.parametrize(
    "version, modules, complaint",
    [
        ("1.8.0_392", "", "Java must be 17 or newer, got 8 ("),
        ("11.0.22", "", "Java must be 17 or newer, got 11 ("),
        ("17.0.15", "java.base", "Java must have the module jdk.incubator.vector"),
    ],
)
def test_java_that_cannot_run_spark_is_refused(
    build, java_home, capsys, version, modules, complaint
):
    environ = java_home(f'openjdk version "{version}"', modules)
    message = refusal(capsys, build.check_java, environ)
    assert complaint in message
    assert "; install a JDK" in message


def test_java_that_can_run_spark_passes(build, java_home):
    build.check_java(java_home('openjdk version "17.0.1"', "jdk.incubator.vector@17.0.1"))


def test_java_that_says_nothing_is_refused(build, java_home, capsys):
    assert "must answer to -version" in refusal(capsys, build.check_java, java_home("", ""))


def test_missing_java_is_refused(build, tmp_path, capsys):
    message = refusal(capsys, build.check_java, {"PATH": str(tmp_path)})
    assert "Spark needs Java 17 or newer, found none; install a JDK" in message


def test_java_home_without_java_is_refused(build, tmp_path, capsys):
    message = refusal(capsys, build.check_java, {"JAVA_HOME": str(tmp_path)})
    assert f"JAVA_HOME must hold bin/java, got '{tmp_path}'" in message


def test_spark_runs_on_the_environments_python_and_nothing_else(build):
    user = {"SPARK_HOME": "/opt/spark", "PYTHONPATH": "/opt/spark/python", "PYSPARK_PYTHON": "py"}
    environment = build.spark_environment({**user, "SPARK_LOCAL_IP": "10.0.0.1"})
    assert not {"SPARK_HOME", "PYTHONPATH"} & set(environment)
    assert environment["PYSPARK_PYTHON"] == str(build.venv_python())
    assert environment["SPARK_LOCAL_IP"] == "10.0.0.1"
    assert build.spark_environment({})["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_modules_are_compiled_once(build):
    assert "PYTHONDONTWRITEBYTECODE" not in build.spark_environment(
        {"PYTHONDONTWRITEBYTECODE": "1"}
    )


@pytest.mark.parametrize("arguments, given", [([], "--processes"), (["-x", "tests/spark"], "-x")])
def test_all_tests_run_several_at_a_time(arguments, given, build, monkeypatch):
    ran = []
    monkeypatch.setattr(build, "run_with_spark", lambda *command: ran.extend(command))
    build.test_command(arguments)
    assert ran[:3] == ["-m", "pytest", given]
    assert ran[3:] == arguments[1:] or int(ran[3]) > 1


@pytest.mark.parametrize("rest", [[], ["tests/nn", "-x"]])
def test_fast_leaves_out_what_is_marked(rest, build, monkeypatch):
    ran = []
    monkeypatch.setattr(build, "run_with_spark", lambda *command: ran.append(command))
    build.test_command(rest)
    build.test_command(["--fast", *rest])
    whole, fast = ran
    ignored = [f"--ignore=tests/{name}" for name in ("cluster", "end_to_end", "ml", "spark")]
    assert fast == (*whole[:2], "-m", "not jvm and not slow", *ignored, *whole[2:])
    assert {*lanes.OF_FOLDER} == {each.removeprefix("--ignore=") for each in ignored}


def test_another_spark_stands_before_the_pinned_one(build, checkout, monkeypatch):
    monkeypatch.setattr(build, "SPARKS", checkout / ".spark")
    commands = []
    monkeypatch.setattr(build, "call", lambda *command, **options: commands.append(command) or 0)
    folder = build.install_spark("3.5")
    assert folder == checkout / ".spark" / "3.5"
    assert commands[0][-3:] == ("--target", folder, "pyspark==3.5.*")
    (folder / "pyspark").mkdir()
    assert build.install_spark("3.5") == folder and len(commands) == 1
    (folder / build.UNFINISHED).touch()  # the process that installed it was killed
    build.install_spark("3.5")
    build.install_spark("4.0.1")
    assert [command[-1] for command in commands[1:]] == ["pyspark==3.5.*", "pyspark==4.0.1"]


@pytest.mark.parametrize("version", ["", "3", "newest", "3.5.*", "../3.5"])
def test_a_version_that_cannot_be_is_refused(version, build, capsys):
    message = refusal(capsys, build.install_spark, version)
    assert f"--spark must be a version such as 3.5 or 3.5.9, got {version!r}" in message


@pytest.mark.parametrize("rest", [[], ["tests/spark/test_network.py", "-x"]])
def test_tests_of_spark_run_on_another_spark(rest, build, monkeypatch):
    ran = []
    monkeypatch.setattr(build, "run_with_spark", lambda *words, **how: ran.append((words, how)))
    build.test_command(["--spark", "3.5", *rest])
    [(words, how)] = ran
    assert how == {"spark": "3.5"}
    assert list(words[-len(rest) :] if rest else words[-2:]) == (
        rest or ["tests/spark", "tests/ml"]
    )


def test_docs_are_made_anew_and_a_warning_ends_it(build, checkout, monkeypatch, capsys):
    made = checkout / "dist" / "docs"
    made.mkdir(parents=True)
    (made / "old.html").touch()
    monkeypatch.setattr(build, "DOCS", made)
    monkeypatch.setattr(build, "setup", lambda: None)
    ran = []
    monkeypatch.setattr(build, "call", lambda *command: ran.append(command) or 0)
    build.docs_command([])
    [command] = ran
    assert "--fail-on-warning" in command and command[-2:] == ("notebooks", made)
    assert not made.exists() and "docs/index.html" in capsys.readouterr().out
    monkeypatch.setattr(build, "call", lambda *command: 1)
    assert "sphinx failed with exit code 1" in refusal(capsys, build.docs_command, [])


def test_links_of_the_docs_are_checked_where_that_is_asked_for(build, checkout, monkeypatch):
    monkeypatch.setattr(build, "setup", lambda: None)
    ran = []
    monkeypatch.setattr(build, "call", lambda *command: ran.append(command) or 0)
    build.docs_command(["--links"])
    [command] = ran
    assert command[-4:-1] == ("--builder", "linkcheck", "notebooks")
    assert not (checkout / "dist" / "docs").exists()


def test_gpu_bench_takes_the_python_that_it_is_called_with(build, monkeypatch):
    ran = []
    monkeypatch.setattr(build, "call", lambda *command: ran.append(command) or 3)
    with pytest.raises(SystemExit) as ended:
        build.bench_command(["gpu", "--json", "found.json"])
    assert ended.value.code == 3
    assert ran == [(sys.executable, "-m", "tests.benchmarks", "gpu", "--json", "found.json")]


# The lock file

LOCKED = """# This file was autogenerated
idle==1 \\
    --hash=sha256:00
    # via sparkdl-hadoop (pyproject.toml)
lib-b==2 ; sys_platform == 'win32' \\
    --hash=sha256:01 \\
    --hash=sha256:02
    # via
    #   idle
    #   tool
tool==3 \\
    --hash=sha256:03
    # via sparkdl-hadoop (pyproject.toml)
"""


def test_runtime_part_holds_what_the_wanted_ask_for(build):
    part = build.runtime_pins(LOCKED, {"tool"})
    assert [name for name, _ in build.pins(part)] == ["lib-b", "tool"]
    assert part.count("--hash") == 3
    assert "win32" in part


@pytest.mark.parametrize("requirement", ["PyYAML>=6", "pyyaml", "pyyaml[x]==6 ; marker"])
def test_names_are_spelled_as_the_index_does(build, requirement):
    assert build.normal(requirement) == "pyyaml"


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_lock_file_pins_every_dependency_by_hash(build, project):
    pins = build.pins((ROOT / ".requirements.lock").read_text())
    extras, left_out = (
        project["optional-dependencies"],
        {"gpu", "kerberos", "torch"},
    )  # see pyproject.toml
    asked = [project["dependencies"], *(extras[name] for name in extras.keys() - left_out)]
    assert {build.normal(name) for names in asked for name in names} <= {name for name, _ in pins}
    assert all("==" in pin and "--hash=sha256:" in pin for _, pin in pins)


def test_lock_file_names_no_place_of_the_machine_that_made_it():
    text = (ROOT / ".requirements.lock").read_text()
    assert not [word for word in ("://", "file:", "--index", "--find", " /") if word in text]


def test_files_that_other_runs_name_are_there(build):
    frameworks = [word for words in build.FRAMEWORK_TESTS.values() for word in words]
    words = *build.SPARK_TESTS, *frameworks, *(ROOT / ".ci" / "run").read_text().split()
    named = [word for word in words if word.startswith("tests/")]
    assert len(named) > 8
    assert [name for name in named if not (ROOT / name).exists()] == []
