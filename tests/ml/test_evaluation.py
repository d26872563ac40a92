"""Evaluations use the class names that a StringIndexer found."""

import numpy as np
import pytest

from sparkdl.ml.evaluation import with_names
from sparkdl.nn import Dense, NetworkConf, Output
from sparkdl.training.evaluation import evaluation_for

THREE, SOFTMAX = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], {"units": 3}
YES, SIGMOID = [[0.8], [0.3]], {"units": 1, "loss": "sigmoid_cross_entropy"}
NAMES = {
    # output options, predictions, class names, displayed names
    "classes": (SOFTMAX, THREE, ("ant", "bee", "cow"), ("ant", "bee", "cow")),
    "too few names": (SOFTMAX, THREE, ("ant", "bee"), ("0", "1", "2")),
    "no names": (SOFTMAX, THREE, None, ("0", "1", "2")),
    "yes or no": (SIGMOID, YES, ("benign", "malignant"), ("malignant",)),
    "yes or no of three": (SIGMOID, YES, ("a", "b", "c"), ("0",)),
    "numbers": ({"units": 1, "loss": "mse"}, YES, ("a", "b"), ("0",)),
}


@pytest.mark.parametrize("name", NAMES)
def test_outputs_have_the_names_of_their_classes(name):
    options, predictions, labels, shown = NAMES[name]
    conf = NetworkConf(input_shape=(2,), layers=[Dense(units=2), Output(**options)])
    plain = evaluation_for(conf.loss, conf.output_size).add(np.array(predictions), np.array([1, 0]))
    named = with_names(plain, conf, labels)
    assert named.labels == shown
    assert named.figures() == plain.figures() and named.examples == 2
    assert all(label in str(named) for label in shown)
