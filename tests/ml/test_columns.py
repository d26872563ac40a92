"""Column names for networks with one or several inputs and outputs."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.ml.columns import one_label, output_names, several_names
from sparkdl.nn import Dense, EmbeddingBag, GraphBuilder, GraphConf, Merge, Output, Vertex, zoo
from tests.ml.frames import classes_conf


def branches():
    build = GraphBuilder(left=(2,), right=(3,))
    build.add(Dense(units=4, activation="tanh"), "left", name="dense")
    build.add(Merge(), "dense", "right", name="both")
    build.add(Output(units=3, loss_weight=2.0), "both", name="kind")
    build.add(Output(units=1, loss="mse"), "both", name="size")
    return build.conf(seed=3)


def bagged():
    bag = EmbeddingBag(name="text", column="words", weights="counts", dimension=2, width=2)
    output = Vertex(name="kind", layer=Output(units=3), inputs="text")
    return GraphConf(bags=[bag], vertices=[output], seed=3)


def sole_bag(column="words", units=3):
    """Returns a network whose only input is a bag of `column`."""
    bag = EmbeddingBag(name="text", column=column, dimension=2)
    output = Vertex(name="kind", layer=Output(units=units), inputs="text")
    return GraphConf(bags=[bag], vertices=[output], seed=3)


class Owner:
    """A stub of a stage on which these Params were set."""

    def __init__(self, *names):
        self.isSet = names.__contains__


OWNER = Owner()
NAMED = {
    "one of each": (classes_conf(), ("x", "y"), ({"features": "x"}, {"labels": "y"})),
    "a list of one": (classes_conf(), (["x"], ["y"]), ({"features": "x"}, {"labels": "y"})),
    "several": (
        branches(),
        (["a", "b"], ["c", "d"]),
        ({"left": "a", "right": "b"}, {"kind": "c", "size": "d"}),
    ),
    "ids and their weights": (
        zoo.deep_fm(("u", "v"), 2, dimension=2, units=(4,)),
        (["x", "user", "item"], "y"),
        ({"numbers": "x", "u": "user", "v": "item"}, {"labels": "y"}),
    ),
    "a bag with columns of its own": (
        bagged(),
        ("features", "label"),
        ({"words": "words", "counts": "counts"}, {"labels": "label"}),
    ),
    "a bag alone, unless given": (
        sole_bag(),
        ("features", "label"),
        ({"words": "words"}, {"labels": "label"}),
    ),
    "a bag alone": (sole_bag(), ("ids", "y"), ({"words": "ids"}, {"labels": "y"})),
    "a bag without a column": (
        sole_bag(None),
        ("features", "label"),
        ({"features": "features"}, {"labels": "label"}),
    ),
    "several, unless given": (
        branches(),
        ("features", "label"),
        ({"left": "left", "right": "right"}, {"kind": "kind", "size": "size"}),
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_each_input_and_label_has_a_column(case):
    conf, given, expected = NAMED[case]
    assert several_names(OWNER, conf, *given) == expected
    if len(conf.label_columns) == 1 and isinstance(given[1], str):
        assert one_label(OWNER, conf, *given) == expected


@pytest.mark.parametrize("choose", [one_label, several_names])
@pytest.mark.parametrize("set_, known", [(["featuresCol"], ["words"]), ([], ["words", "features"])])
def test_a_name_that_was_set_or_is_there_is_read_though_it_is_the_default(choose, set_, known):
    found = choose(Owner(*set_), sole_bag(), "features", "label", known)
    assert found == ({"words": "features"}, {"labels": "label"})


def test_another_number_is_refused():
    with pytest.raises(ConfigError, match="Owner.featuresCol must name .* got a"):
        several_names(OWNER, branches(), "a", "label")
    with pytest.raises(ConfigError, match="got .'a', 'b'.; VectorAssembler puts several columns"):
        several_names(OWNER, classes_conf(), ["a", "b"], "label")
    with pytest.raises(ConfigError, match="Owner.labelCol must name a column for each of .'kind'"):
        several_names(OWNER, branches(), "features", ["c"])
    with pytest.raises(ConfigError, match="Owner.network must have one column of labels, got 2"):
        one_label(OWNER, branches(), "features", "label")


def test_one_name_serves_all_outputs():
    assert output_names(OWNER, "predictionCol", ["kind"], "p") == ["p"]
    assert output_names(OWNER, "predictionCol", ["kind", "size"], "p") == ["p_kind", "p_size"]
    assert output_names(OWNER, "predictionCol", ["kind", "size"], "") == ["", ""]
    assert output_names(OWNER, "predictionCol", ["kind", "size"], ["p", ""]) == ["p", ""]
    with pytest.raises(ConfigError, match="predictionCol must name a column for each of"):
        output_names(OWNER, "predictionCol", ["kind", "size"], ["p"])
