"""A zip gets the byte code of exactly the sources that it has, and Python imports that."""

import py_compile
import subprocess
import sys
import zipfile

from tests.support.python_zips import add_byte_code, sources, zips

SOURCE = "VALUE, PLACE = 1, __file__\n"
PROGRAM = "import same, other, alone; print(same.PLACE, other.PLACE, alone.PLACE)"


def test_only_what_has_the_same_text_gets_byte_code(tmp_path):
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in ("same", "other"):
        (packages / f"{name}.py").write_text(SOURCE)
        py_compile.compile(packages / f"{name}.py")
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as old:
        for name, text in {"same": SOURCE, "other": SOURCE.replace("1", "2"), "alone": ""}.items():
            old.writestr(f"{name}.py", text or SOURCE)
    new = tmp_path / "new.zip"
    add_byte_code(tmp_path / "old.zip", new, packages)
    command = [sys.executable, "-c", PROGRAM]
    said = subprocess.run(command, env={"PYTHONPATH": str(new)}, capture_output=True, check=True)
    assert said.stdout.decode().split() == [f"{new}/same.pyc", f"{new}/other.py", f"{new}/alone.py"]


def test_byte_code_that_names_no_time_is_left_out(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(SOURCE)
    py_compile.compile(path, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as old:
        old.writestr("one.py", SOURCE)
    add_byte_code(tmp_path / "old.zip", tmp_path / "new.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "new.zip") as new:
        assert new.namelist() == ["one.py"]


def test_executors_import_pyspark_from_there(spark):
    def place(_):
        import pyspark.worker

        return pyspark.worker.__file__

    [found] = spark.sparkContext.parallelize([0], 1).map(place).collect()
    assert found.startswith(f"{zips()[0]}/pyspark/worker.py")
    assert sources(zips()[0].parents[2]) == zips()
