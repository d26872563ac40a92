"""Data read by a fit serves later fits on the same data, and no others."""

import shutil

import pytest

from sparkdl.data import Arrays
from sparkdl.errors import ConfigError, DataError, DivergedError
from sparkdl.nn import Sgd
from sparkdl.spark import SparkNetwork, clear_kept_data
from sparkdl.spark.records.data_identity import MAY_DIFFER, UNSEEN, DataIdentity
from sparkdl.spark.records.kept_data import SETTING, DataSet, KeptData, keeping_nothing
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.reporting.listeners import Listener
from tests.spark.networks import arrays, data, plain
from tests.spark.records.folders import stored_folders
from tests.spark.records.test_executor_store import KINDS, nothing_is_left, pairs

MASTER = ParameterAveraging(batch_size_per_worker=4, workers=2)
OTHER = ParameterAveraging(batch_size_per_worker=7, workers=2, seed=8, aggregation="driver")


@pytest.fixture
def keeps(spark):
    """Returns a function that limits how many bytes may be kept."""
    spark.conf.set(SETTING, "1m")
    yield lambda limit: spark.conf.set(SETTING, limit)
    clear_kept_data(spark)
    spark.conf.unset(SETTING)
    assert nothing_is_left(spark.sparkContext)


def fit(sc, given, master=MASTER, conf=None, **options):
    """Returns (whether kept data was used, the parameters)."""
    net = SparkNetwork(sc, conf or plain(), master)
    history = net.fit(given, **options)
    assert ("kept from an earlier fit" in str(history)) == history.data_were_kept
    return history.data_were_kept, net.network.state.params.tobytes()


def fresh(sc, given, master=MASTER):
    with keeping_nothing():
        kept, params = fit(sc, given, master)
    assert not kept
    return params


@pytest.mark.parametrize("kind", KINDS)
def test_other_options_find_the_same_data(kind, keeps, spark, sc):
    given = KINDS[kind](spark)
    was_kept, params = fit(sc, given)
    folders = stored_folders(sc)
    assert not was_kept and len(folders) == 3
    assert fit(sc, given) == (True, params)
    assert fit(sc, given, OTHER) == (True, fresh(sc, given, OTHER))
    assert stored_folders(sc) == folders
    clear_kept_data(sc)
    assert nothing_is_left(sc)


def scaled(path):
    def scale(row):
        return row[0] * float(path.read_text()), row[1]

    return scale


@pytest.mark.parametrize("in_frame", [False, True])
def test_rows_of_a_changed_file_that_a_function_reads(in_frame, keeps, spark, sc, tmp_path):
    factor = tmp_path / "factor"
    factor.write_text("1")
    given = pairs(spark).map(scaled(factor))
    if in_frame:
        rows = given.map(lambda row: (row[0].tolist(), int(row[1])))
        given = spark.createDataFrame(rows, "features array<float>, label int")
    before = fit(sc, given)
    factor.write_text("2")
    assert before[1] != (after := fit(sc, given))[1]
    assert after == (False, fresh(sc, given))


def test_the_history_says_why_the_next_fit_reads(keeps, spark, sc, tmp_path):
    (tmp_path / "lines").write_text("1\n" * 8)
    (tmp_path / "factor").write_text("1")
    lines = sc.textFile(f"file://{tmp_path}/lines", 2).map(lambda line: ([float(line)] * 6, 1))
    opened = pairs(spark).map(scaled(tmp_path / "factor"))
    cases = {None: lambda: lines, UNSEEN: lines.persist, MAY_DIFFER: lambda: opened}
    for why, make in cases.items():
        history = SparkNetwork(sc, plain(), MASTER).fit(make())
        assert history.why_not_kept == history.to_dict()["why_not_kept"] == why
        assert why is None or why in str(history)
    lines.unpersist()
    keeps("0")
    assert SparkNetwork(sc, plain(), MASTER).fit(opened).why_not_kept is None


def test_lost_folders_are_read_again(keeps, spark, sc):
    given = pairs(spark)
    expected = fit(sc, given)
    shutil.rmtree(stored_folders(sc)[0])
    assert fit(sc, given) == expected
    assert len(stored_folders(sc)) == 3
    assert fit(sc, given) == (True, expected[1])


class Stopping(Listener):
    def on_round(self, report, state):
        raise KeyboardInterrupt


def test_a_failed_fit_keeps_nothing(keeps, spark, sc):
    x, y = data()
    with pytest.raises(DataError):
        fit(sc, Arrays(x, y + 9))
    assert nothing_is_left(sc)


def test_an_interrupted_fit_keeps_its_data(keeps, sc):
    with pytest.raises(KeyboardInterrupt):
        fit(sc, arrays(), listeners=[Stopping()])
    assert fit(sc, arrays()) == (True, fresh(sc, arrays()))


def test_a_network_that_diverges_is_no_fault_of_the_data(keeps, sc):
    conf = plain(optimizer=Sgd(learning_rate=1e38))
    with pytest.raises(DivergedError):
        fit(sc, arrays(), conf=conf, epochs=3)
    assert fit(sc, arrays())[0]


def test_the_setting_bounds_what_is_kept(keeps, spark, sc):
    keeps("0")
    assert not fit(sc, arrays())[0]
    assert nothing_is_left(sc)
    keeps("2k")  # 60 records need 2,160 bytes
    assert [fit(sc, arrays())[0] for _ in range(2)] == [False, False]
    keeps("3k")
    assert [fit(sc, arrays())[0] for _ in range(2)] == [False, True]
    assert not fit(sc, arrays(55))[0]
    assert [fit(sc, arrays(55))[0], fit(sc, arrays())[0]] == [True, False]
    keeps("much")
    with pytest.raises(ConfigError, match=f"{SETTING} must be a size such as 4g .*, got much"):
        fit(sc, arrays())


class Store:
    """A stub of ExecutorStore."""

    def __init__(self, nbytes=4, is_whole=True):
        self.nbytes, self.whole, self.removed = nbytes, is_whole, 0

    def is_whole(self):
        return self.whole

    def remove(self, while_read=False):
        self.removed += 1


def opened(kept, what, **options):
    """Returns a newly read data set, in use by the fit that read it."""
    assert find(kept, what) is None
    return DataSet(DataIdentity(None, {}, what), Store(**options))


def find(kept, what):
    return kept.find(DataIdentity(None, {}, what))


def test_what_was_not_used_for_longest_goes_first():
    kept = KeptData(lambda: 10)
    first, second, third = (opened(kept, name) for name in "abc")
    kept.release(first, keep=True)
    kept.release(second, keep=True)
    kept.release(find(kept, "a"), keep=True)
    kept.release(third, keep=True)
    assert [one.store.removed for one in (first, second, third)] == [0, 1, 0]
    large = opened(kept, "d", nbytes=11)
    kept.release(large, keep=True)
    assert [one.store.removed for one in (first, second, third, large)] == [0, 1, 0, 1]
    kept.clear()
    assert [one.store.removed for one in (first, second, third)] == [1, 1, 1]


def test_what_is_in_use_stays_until_its_last_user_has_done():
    kept = KeptData(lambda: 10)
    one = opened(kept, "a")
    kept.release(one, keep=True)
    assert find(kept, "a") is find(kept, "a") is one
    kept.clear()
    kept.release(one, keep=True)
    assert not one.store.removed
    kept.release(one, keep=True)
    assert one.store.removed == 1
    assert find(kept, "a") is None


def test_one_user_who_fails_is_enough():
    kept = KeptData(lambda: 10)
    one = opened(kept, "a")
    kept.release(one, keep=True)
    find(kept, "a"), find(kept, "a")
    kept.release(one, keep=False)
    assert find(kept, "a") is None
    kept.release(one, keep=True)
    assert one.store.removed == 1
    assert find(kept, "a") is None


def test_two_that_read_the_same_at_once_leave_one():
    kept = KeptData(lambda: 10)
    one, other = opened(kept, "a"), opened(kept, "a")
    kept.release(one, keep=True)
    kept.release(other, keep=True)
    assert (one.store.removed, other.store.removed) == (0, 1)
    assert find(kept, "a") is one


def test_what_is_no_longer_whole_is_removed():
    kept = KeptData(lambda: 10)
    one = opened(kept, "a", is_whole=False)
    kept.release(one, keep=True)
    assert find(kept, "a") is None
    assert one.store.removed == 1


def test_an_interrupt_while_folders_are_looked_up_leaves_no_user(monkeypatch):
    kept = KeptData(lambda: 10)
    one = opened(kept, "a")
    kept.release(one, keep=True)

    def interrupt():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(one.store, "is_whole", interrupt)
        with pytest.raises(KeyboardInterrupt):
            find(kept, "a")
    assert one.users == 0
    kept.release(find(kept, "a"), keep=True)
    kept.clear()
    assert one.store.removed == 1


@pytest.mark.parametrize("encrypted", [True, False])
def test_a_fit_warns_of_plain_records_where_spark_encrypts_its_own(
    encrypted, sc, spark, monkeypatch, caplog
):
    monkeypatch.setattr("sparkdl.spark.records.kept_data.encrypts", lambda sc: encrypted)
    fit(sc, KINDS["pairs"](spark))
    assert ("records that this fit keeps on the disks" in caplog.text) == encrypted
