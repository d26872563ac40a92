"""Inputs of the cost model for a network with tables."""

from sparkdl.nn import EmbeddingBag, GraphConf, Output, Vertex
from sparkdl.nn.layers import Merge
from sparkdl.training.masters.all_reduce.rows_model import rows_model
from sparkdl.zoo import wide_deep


def test_each_field_reads_a_row_of_both_tables_for_each_example():
    model = rows_model(wide_deep(fields=("a", "b", "c"), dimension=8, units=(4,)), 32)
    assert (model.rows, model.numbers) == (32 * 6, 32 * 3 * (8 + 1))


def test_two_bags_of_a_column_and_a_table_read_the_same_rows():
    bags = [
        EmbeddingBag(name=name, column="words", table="words", dimension=4, width=5, combine=name)
        for name in ("sum", "mean")
    ]
    vertices = [
        Vertex(name="all", layer=Merge(), inputs=("sum", "mean")),
        Vertex(name="out", layer=Output(units=2), inputs="all"),
    ]
    model = rows_model(GraphConf(bags=bags, vertices=vertices), 10)
    assert (model.rows, model.numbers) == (50, 200)
