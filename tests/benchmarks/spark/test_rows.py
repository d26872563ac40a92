"""The table's rows: commands of each side, and limits of each bar."""

import pytest

from sparkdl.data import digits
from tests.benchmarks.spark import bare_side, our_side, udf_side
from tests.benchmarks.spark.records import PARTS, read_pairs, write_records
from tests.benchmarks.spark.records import ROWS as COUNT
from tests.benchmarks.spark.rows import OURS, ROWS, Bar, command
from tests.benchmarks.spark.table import verdict

MODULES = {"our_side": our_side, "bare_side": bare_side, "udf_side": udf_side}


@pytest.mark.parametrize("name", ROWS)
def test_each_side_names_what_exists_and_each_bar_a_side(name):
    row = ROWS[name]
    assert next(iter(row.sides)) == OURS
    for module, side, *_ in row.sides.values():
        assert module in ("elephas", "dl4j") or side in MODULES[module].SIDES
    assert all(peer in row.sides for bar in row.bars for peer in bar.peers)


def test_a_side_of_ours_gets_the_folder_first():
    words = command(ROWS["lenet"].sides[OURS], "folder", None, None)
    assert words[1:] == [
        "-m",
        "tests.benchmarks.spark.our_side",
        "fit_pairs",
        "folder",
        "lenet",
        "5",
    ]


def test_a_bar_is_held_up_to_its_limit():
    found = {OURS: {"warm": 2.0}, "a": {"warm": 1.0}, "b": {"warm": 3.0}}
    assert Bar("warm", ("a",), plus=1.5).limit(found) == 2.5
    assert Bar("warm", plus=1.0).limit(found) == 1.0
    assert Bar("warm", ("a", "b"), times=1 / 0.8).limit(found) == 5.0
    for bar, word in (
        (Bar("warm", ("b",), times=1 / 1.6), "MISSED"),
        (Bar("warm", ("b",)), "held"),
    ):
        assert verdict(bar, found).endswith(f": {word}")


@pytest.mark.slow
def test_the_records_are_as_many_as_the_rows_say(tmp_path):
    write_records(tmp_path)
    pairs, xs, ys = read_pairs(tmp_path, (1, 28, 28))
    assert len(pairs) == 10_000 and pairs[0][0].shape == (1, 28, 28) and len(xs) == len(ys)
    x = digits("train").features.reshape(-1, 784) / 255
    total = x.sum() + x[: COUNT // PARTS - len(x)].sum()
    part = tmp_path / "rows.parquet" / "part-0.parquet"
    assert bare_side.sum_of_file(part) == pytest.approx(total, rel=1e-4)
