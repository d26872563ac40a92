"""Every Python block of README.md and the documentation runs, a page's blocks in one namespace."""

import re

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

from sparkdl import AllReduceSGD, Batch, Network
from sparkdl.config.member import Member
from sparkdl.exchange.codecs import OneBit
from sparkdl.nn.execution.replica import Replica
from sparkdl.optimizers import Sgd
from sparkdl.tune import EnsembleModel
from tests.support.pages import blocks, pages

ELSEWHERE = {"notebooks/tutorial.md"}  # runs in tests/cluster/test_tutorial.py
PAGES = [page for page in pages() if blocks(page, "python") and page not in ELSEWHERE]
PRINTS = {
    "README.md": r"\|prediction",
    "notebooks/how_to/caffe.md": r"\[ *0, +1, +3, +5, -1, -1\].*'target_sentence': array\(\[ *1",
    "notebooks/how_to/dataframes.md": r"\|prediction\|.*\n4 \[0.57\d*, 4.0\]\n.*"
    r"\('dark', 'light'\) 24\n.*\n320\n$",
    "notebooks/how_to/extend.md": r"accuracy (0\.[89]\d|1\.00) of 200 waves\nTrue .*tower'\]\n$",
    "notebooks/how_to/keras.md": r"\(5, 2\)\nAdamHat\(.*\n\[\]\n$",
    "notebooks/how_to/masters.md": r"ParameterAveraging \d\.\d+\nAllReduceSGD \d\.\d+",
    "notebooks/how_to/networks.md": r"total .*\n4\n.*\d+ 431080\n2\n0\.999\n$",
    "notebooks/how_to/predict.md": r"\(3, 2\)\n.*\|label\|.*score\|.*\|1 none\|ValueError",
    "notebooks/how_to/search.md": r"\d\.\d+\n$",
    "notebooks/how_to/steer.md": r"validation loss",
    "notebooks/how_to/streams.md": r"micro-batch 1: all available data.*\[60, 60\]\n60\n180\n$",
    "notebooks/how_to/tables.md": r"accuracy (0\.9\d|1\.00)\n0\nndcgAtK .*MRR\|hit_rate",
    "notebooks/how_to/texts.md": r"accuracy (0\.[89]\d|1\.00)\n\('output/W',\)\n\(3, 2\)\n$",
    "notebooks/how_to/torch.md": r"accuracy (0\.9\d|1\.00)\n.*another loss (0\.9\d|1\.00)\n.*"
    r"\[0 0 0\]\n.*logits\|",
    "notebooks/how_to/watch.md": r"FINISHED \w+\n\d+ [\d.]+\n.*sparkdl_rounds_total \d",
}
NEEDS = {"notebooks/how_to/torch.md": "torch"}  # tested by python build.py test --torch


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs the blocks of a page in order: `run(page)` returns its names and its output."""
    monkeypatch.chdir(tmp_path)

    def execute(page):
        names = {"__name__": "page"}
        for block in blocks(page, "python"):
            exec(compile(block, page, "exec"), names)
        return names, capsys.readouterr().out

    yield execute
    forget_members("page")


def forget_members(module):
    """Unregisters a page's classes, because other tests compare all members of a family."""
    for family in Member.__subclasses__():
        for name, cls in [*family.members.items()]:
            if cls.__module__ == module:
                del family.members[name]


def test_a_page_leaves_no_member_behind():
    known = {*Sgd.members.values()}
    exec("class Page(Sgd): pass", {"Sgd": Sgd, "__name__": "page"})
    assert {*Sgd.members.values()} - known == {Sgd.members["Page"]}
    forget_members("page")
    assert {*Sgd.members.values()} == known


def test_each_page_with_code_says_what_it_prints():
    assert {*PAGES} == {*PRINTS}


@pytest.mark.filterwarnings("ignore:unclosed running multiprocessing pool:ResourceWarning")
@pytest.mark.parametrize("page", PAGES)
def test_page_runs(page, request, run, tmp_path):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page], reason="python build.py test --torch has it")
    context = request.getfixturevalue("spark").sparkContext
    before = {*context._jsc.getPersistentRDDs()}
    names, text = run(page)
    assert {*context._jsc.getPersistentRDDs()} <= before, "a page gives back what it caches"
    assert re.search(PRINTS[page], text, re.DOTALL), text
    CHECKS.get(page, lambda *_: None)(names, text, tmp_path)


def readme(names, text, folder):
    history = names["history"]
    assert history.epochs[-1].loss < history.epochs[0].loss
    assert 0 < history.epochs[-1].validation.examples < 120


def dataframes(names, text, folder):
    found = names["model"].transform(names["flowers"]).filter("prediction = label").count()
    assert found > 400
    assert names["best"].network.conf.optimizer.learning_rate == 0.02


def networks(names, text, folder):
    """The documented graph learns."""
    rng = np.random.default_rng(0)
    replica, n = Replica(names["conf"]), 8
    columns = {"features": rng.normal(size=(n, 3, 32, 32)).astype(np.float32)}
    columns["labels"] = rng.integers(0, 10, n).astype(np.int32)
    batch = Batch(columns=columns, ids=np.arange(n, dtype=np.uint64))
    losses = [replica.step(batch, 0.05, t) for t in range(1, 11)]
    assert losses[-1] < losses[0]


def masters(names, text, folder):
    assert names["gradients"] == AllReduceSGD(batch_size_per_worker=16, codec=OneBit())


def search(names, text, folder):
    path = str(folder / "ensemble")
    names["ensemble"].write().save(path)
    found = EnsembleModel.load(path).evaluate(names["test"])
    assert (
        0 < found.examples < 60
        and found.accuracy == names["ensemble"].evaluate(names["test"]).accuracy
    )


def predict(names, text, folder):
    assert Network.load(folder / "a-model").state.epoch == 2


def steer(names, text, folder):
    assert (folder / "fit.html").is_file() and list((folder / "runs" / "second").iterdir())
    assert names["net"].network.state.epoch == 2


def tables(names, text, folder):
    """The figures of a ranking are those of scikit-learn and numpy."""
    frame = names["recommender"].predict(names["pairs"]).toPandas()
    found = {name: [] for name in ("ndcg", "meanAveragePrecision", "precision", "recall", "MRR")}
    hits = []
    for _, one in frame.sort_values(["prediction", "item"], ascending=False).groupby("user"):
        liked, scores = one.label.to_numpy(), one.prediction.to_numpy()
        precisions = np.cumsum(liked) / np.arange(1, len(liked) + 1)
        found["ndcg"].append(ndcg_score([liked], [scores], k=10))
        average = (precisions * liked)[:10].sum() / min(10, liked.sum())
        found["meanAveragePrecision"].append(average)
        found["precision"].append(precisions[9])
        found["recall"].append(liked[:10].sum() / liked.sum())
        found["MRR"].append(1 / (1 + liked.argmax()))
        hits.append(liked[:10].any())
    means = {name: np.mean(values) for name, values in found.items()}
    assert 0.3 < means["precision"] < means["ndcg"] < 1, "the figures tell rankings apart"
    for name in ("ndcg", "meanAveragePrecision", "precision", "recall"):
        [shown] = re.findall(rf"{name}AtK (\S+)", text)
        assert float(shown) == pytest.approx(means[name], abs=6e-4)
    [shown] = re.findall(r"\n\|(0\.\d+|1\.0) *\| *(0\.\d+|1\.0) *\|\n", text)
    assert [*map(float, shown)] == pytest.approx([means["MRR"], np.mean(hits)])


def watch(names, text, folder):
    assert list((folder / "runs" / "first").iterdir())
    history = names["net"].history
    assert names["again"].state.iteration < names["net"].state.iteration
    assert f"sparkdl_rounds_total {len(history.rounds)}.0" in text


CHECKS = {
    "README.md": readme,
    "notebooks/how_to/dataframes.md": dataframes,
    "notebooks/how_to/masters.md": masters,
    "notebooks/how_to/networks.md": networks,
    "notebooks/how_to/predict.md": predict,
    "notebooks/how_to/search.md": search,
    "notebooks/how_to/steer.md": steer,
    "notebooks/how_to/tables.md": tables,
    "notebooks/how_to/watch.md": watch,
}
