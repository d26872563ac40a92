"""Options of bags, and networks with bags."""

import numpy as np
import pytest

from sparkdl.errors import ConfigError, ShapeError
from sparkdl.nn import AdaGrad, Adam, EmbeddingBag, GraphConf, Lars, Merge, Output, Sgd, Vertex
from sparkdl.nn.networks.document import conf_from_json
from sparkdl.nn.optimizers import Optimizer
from sparkdl.nn.schedules import StepSchedule
from sparkdl.nn.tables.embedding_bag import groups_of, load_groups
from sparkdl.nn.tables.row_keys import RowKeys


def graph(*bags, inputs=None, **options):
    names = [bag.name for bag in bags] + [*(inputs or {})]
    vertices = [
        Vertex(name="all", layer=Merge(), inputs=names),
        Vertex(name="out", layer=Output(units=2), inputs="all"),
    ]
    return GraphConf(inputs=inputs or {}, bags=bags, vertices=vertices, **options)


WORDS = EmbeddingBag(name="words", dimension=4, width=3, optimizer="adagrad")
TITLE = EmbeddingBag(name="title", dimension=4, table="words", optimizer="adagrad")


def test_bags_are_inputs():
    conf = graph(WORDS, inputs={"x": (2,)})
    assert conf.input_shapes == {"x": (2,), "words": (4,)}
    assert conf.record_shapes == {"x": (2,), "words": (3,)}
    assert conf.id_columns == {"words"}
    assert conf.params_layout.size == 2 * 6 + 2  # the table adds none


def test_a_bag_alone_reads_features():
    conf = graph(WORDS)
    assert conf.record_shapes == {"features": (3,)} and conf.id_columns == {"features"}


def test_two_bags_may_read_one_column():
    wide = EmbeddingBag(name="wide", dimension=1, width=3, column="words", weights="counts")
    conf = graph(WORDS, wide)
    assert conf.record_shapes == {"words": (3,), "counts": (3,)}


def test_documents_give_the_network_back():
    conf = graph(WORDS, TITLE, inputs={"x": (2,)})
    assert conf_from_json(conf.to_json()) == conf
    assert GraphConf.from_yaml(conf.to_yaml()) == conf
    assert "bags" not in graph(inputs={"x": (2,)}).to_dict()


def test_rates_of_tables_stand_behind_those_of_the_network():
    conf = graph(WORDS, optimizer=Sgd(learning_rate=0.5))
    np.testing.assert_allclose(conf.rate_at(0, 0), [0.5, AdaGrad().learning_rate])
    steps = Sgd(learning_rate=StepSchedule(initial=0.5, gamma=0.1, step=2))
    own = graph(EmbeddingBag(name="words", dimension=4, optimizer=steps))
    assert [float(own.rate_at(i, 0)[1]) for i in (0, 2)] == pytest.approx([0.5, 0.05])


def test_tables_are_made_once_for_all_bags_of_their_name():
    groups = groups_of(graph(WORDS, TITLE, EmbeddingBag(name="user", dimension=2)))
    assert [(group.names, group.dimension) for group in groups] == [(("words",), 4), (("user",), 2)]
    assert isinstance(groups[0].optimizer, AdaGrad)


def test_tables_of_equal_options_are_one_group():
    fields = [EmbeddingBag(name=name, dimension=2) for name in "abc"]
    fields[1] = EmbeddingBag(name="b", dimension=2, scale=0.1)
    fields += [EmbeddingBag(name="d", dimension=2, optimizer="adagrad")]
    fields += [EmbeddingBag(name="e", dimension=2, min_updates=2)]
    fields += [EmbeddingBag(name="f", dimension=2, expire_after=9)]
    names = [group.names for group in groups_of(graph(*fields))]
    assert names == [("a", "c"), ("b",), ("d",), ("e",), ("f",)]
    same = [EmbeddingBag(name=name, dimension=2, optimizer="sgd") for name in "ab"]
    assert [group.names for group in groups_of(graph(*same, optimizer="sgd"))] == [("a", "b")]


def elementwise():
    return [one for one in Optimizer.members.values() if one.elementwise]


@pytest.mark.parametrize("optimizer", elementwise(), ids=lambda one: one.__name__)
def test_every_optimizer_that_computes_number_by_number_moves_rows(optimizer, rng):
    [words] = groups_of(graph(EmbeddingBag(name="words", dimension=4, optimizer=optimizer())))
    ids, slopes = RowKeys.of([3, 9]), rng.normal(size=(2, 4)).astype(np.float32)
    before = words.read(ids)
    words.update(ids, slopes, 0.1, 1)
    assert ((words.read(ids) - before) * slopes < 0).all()


def bag(**options):
    return EmbeddingBag(**({"name": "words", "dimension": 4} | options))


ERRORS = {
    "combine": (
        lambda: bag(combine="max"),
        "EmbeddingBag.combine must be 'sum', 'mean' or 'sqrtn', got 'max'",
    ),
    "dimension": (
        lambda: graph(WORDS, bag(name="b", table="words", dimension=2, optimizer="adagrad")),
        "dimension must be the same for all bags of table 'words', got 4 and 2",
    ),
    "optimizer": (lambda: graph(WORDS, bag(name="b", table="words")), "EmbeddingBag.optimizer"),
    "width": (
        lambda: graph(WORDS, bag(name="b", column="words", width=2)),
        "width must be the same for all bags of column 'words', got 3 and 2",
    ),
    "min_updates": (
        lambda: graph(WORDS, bag(name="b", table="words", optimizer="adagrad", min_updates=2)),
        "min_updates must be the same for all bags of table 'words', got 1 and 2",
    ),
    "expire_after": (
        lambda: bag(expire_after=0),
        "EmbeddingBag.expire_after must be an integer >= 1 or None, got 0",
    ),
    "counts": (
        lambda: graph(bag(min_updates=2), bag(name="words/seen", column="other")),
        "must be another than 'words/seen', the name of the counts of table 'words'",
    ),
    "seen": (
        lambda: load_groups(graph(WORDS), {"words/seen/ids": np.zeros(0, np.int64)}),
        "EmbeddingBag.min_updates must be at least 2 for table 'words', whose updates were counted "
        "in training, got 1; give the min_updates",
    ),
    "norms": (lambda: graph(bag(optimizer=Lars())), "number by number, got Lars"),
    "average": (
        lambda: graph(bag(), optimizer=Adam(ema_decay=0.9)),
        "EmbeddingBag.optimizer must keep no average of the rows, .*, got Adam with ema_decay=0.9; "
        "give the bag an optimizer of its own, without ema_decay",
    ),
    "name": (lambda: graph(WORDS, inputs={"words": (2,)}), "unique, got 'words' twice"),
    "weights": (
        lambda: graph(WORDS, bag(name="weights", column="w")),
        "EmbeddingBag.name must be another than 'weights', .*; rename the bag",
    ),
    "float16": (lambda: graph(WORDS, dtype="float16"), "GraphConf.bags must be none where dtype"),
    "table": (
        lambda: load_groups(graph(WORDS), {"others/ids": np.zeros(0, np.int64)}),
        r"a table must be one of \['words'\], got 'others'",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_the_option(name):
    do, text = ERRORS[name]
    with pytest.raises((ConfigError, ShapeError), match=text):
        do()
