"""Params satisfy the checks of pyspark.ml's own tests; no Spark is needed."""

import inspect

import pytest
from pyspark.ml.param import Param

from sparkdl import ml
from sparkdl.errors import ConfigError
from sparkdl.listeners import EarlyStopping
from sparkdl.masters import AllReduceSGD, ParameterAveraging
from sparkdl.ml import SparkNetworkClassifier, SparkNetworkRegressor
from sparkdl.training.network import Network
from sparkdl.transforms import Scale
from tests.ml.frames import classes_conf, values_conf

ESTIMATORS = [name for name in ml.__all__ if not name.endswith("Model")]
MODELS = [name for name in ml.__all__ if name.endswith("Model")]
OURS = {"network", "master", "preprocessing", "batchSize", "numWorkers", "classWeights"}
OF_A_FIT = {"batchSize", "numWorkers", "classWeights"}


def stage(name):
    cls = getattr(ml, name)
    if name in ESTIMATORS:
        return cls()
    conf = classes_conf() if "Classification" in name else values_conf()
    return cls(Network(conf))


def words(name):
    """Names of the getter and setter, such as getMaxIter and setMaxIter for maxIter."""
    return [f"{verb}{name[0].upper()}{name[1:]}" for verb in ("get", "set")]


@pytest.mark.parametrize("name", ml.__all__)
def test_params_are_those_that_pyspark_finds(name):
    one = stage(name)
    assert [param.name for param in one.params] == sorted({param.name for param in one.params})
    for param in one.params:
        assert isinstance(param, Param)
        assert param.parent == one.uid
        assert param.doc.strip()
        if one.hasDefault(param):
            assert one.getOrDefault(param) == param.typeConverter(one.getOrDefault(param))
    explained = one.explainParams()
    assert all(f"{param.name}: " in explained for param in one.params)


@pytest.mark.parametrize("name", ml.__all__)
def test_each_param_of_our_own_has_a_getter_and_a_setter(name):
    """A model has setters only for the Params that it reads itself."""
    one = stage(name)
    for param in one.params:
        if param.name in OURS or (name in ESTIMATORS and param.name != "thresholds"):
            words_here = words(param.name)[: 1 if name in MODELS and param.name in OF_A_FIT else 2]
            assert all(hasattr(one, word) for word in words_here), param.name


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_constructor_takes_every_param_by_name(name):
    cls = getattr(ml, name)
    taken = set(inspect.signature(cls.__init__).parameters) - {"self"}
    assert taken == {param.name for param in cls().params}
    for param in taken:
        assert param in cls.__doc__
    with pytest.raises(TypeError, match="forces keyword arguments"):
        cls(classes_conf())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_grid_over_what_is_no_param_is_told_where_it_is(name):
    """As in ParamGridBuilder().addGrid(estimator.learningRate, [...])."""
    one = getattr(ml, name)()
    with pytest.raises(AttributeError, match=f"^{name} has no .* addGrid.estimator.network"):
        one.learningRate  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'maxIter'"):
        one.epochs  # noqa: B018
    assert not hasattr(one, "learningRate")
    assert not one.hasParam("learningRate")
    assert one.copy().uid == one.uid


def test_an_attribute_that_a_property_lacks_is_named_itself():
    class Named(SparkNetworkClassifier):
        @property
        def width(self):
            return self.conf_of_another_name.width

    with pytest.raises(AttributeError, match="conf_of_another_name"):
        Named().width  # noqa: B018


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_fewest_epochs_are_those_that_a_fit_takes(name):
    """The words of pyspark allow 0."""
    assert "(>= 1)" in getattr(ml, name)().explainParam("maxIter")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_two_stages_share_nothing(name):
    cls = getattr(ml, name)
    one, other = cls(maxIter=3), cls()
    assert one.uid != other.uid
    assert one.uid.startswith(name)
    assert (one.getMaxIter(), other.getMaxIter()) == (3, 1)


def test_values_come_back_as_what_they_were():
    given = {"network": classes_conf(), "master": AllReduceSGD(), "preprocessing": Scale(factor=2)}
    one = SparkNetworkClassifier(**given)
    assert one.getNetwork() == given["network"]
    assert one.getMaster() == given["master"]
    assert one.getPreprocessing() == given["preprocessing"]
    assert SparkNetworkClassifier().getMaster() == ParameterAveraging()
    assert SparkNetworkClassifier().getPreprocessing() is None


def test_a_copy_has_its_own_values_which_are_converted_too():
    one = SparkNetworkRegressor(network=values_conf(), maxIter=2)
    other = one.copy({one.maxIter: 5, one.master: AllReduceSGD(), one.network: values_conf(2)})
    assert (one.getMaxIter(), other.getMaxIter()) == (2, 5)
    assert (one.uid, other.getMaster()) == (other.uid, AllReduceSGD())
    assert isinstance(other.extractParamMap()[other.master], str)
    assert other.getNetwork() == values_conf(2)


def test_without_a_seed_there_is_none():
    assert not SparkNetworkClassifier().isDefined("seed")
    assert SparkNetworkClassifier(seed=3).getSeed() == 3


@pytest.mark.parametrize("name", ESTIMATORS)
def test_none_is_the_default_wherever_a_signature_says_so(name):
    cls = getattr(ml, name)
    signature = inspect.signature(cls.__init__).parameters.values()
    left_out = {param.name: None for param in signature if param.default is None}
    assert {"seed", "master", "listeners", "patience"} <= set(left_out)
    one = cls(maxIter=3, **left_out)
    assert [param.name for param in one.params if one.isSet(param)] == ["maxIter"]
    assert not one.setSeed(4).setSeed(None).isDefined("seed")


def test_none_in_a_param_map_leaves_a_param_out():
    one = SparkNetworkClassifier(seed=3, weightCol="w")
    other = one.copy({one.seed: None, one.weightCol: None, one.master: None, one.maxIter: 2})
    assert [param.name for param in other.params if other.isSet(param)] == ["maxIter"]


@pytest.mark.parametrize("name, default", [("maxIter", "1"), ("predictionCol", "'prediction'")])
def test_none_is_refused_where_it_is_no_default(name, default):
    one = SparkNetworkClassifier()
    match = f"^SparkNetworkClassifier.{name} must have a value, got None; .* the default {default}$"
    for give in (
        lambda: SparkNetworkClassifier(**{name: None}),
        lambda: one.setParams(**{name: None}),
        lambda: one.copy({one.getParam(name): None}),
    ):
        with pytest.raises(ConfigError, match=match):
            give()


def test_keys_of_a_param_map_are_params():
    match = "^SparkNetworkClassifier: keys of a param map must be Params .*got 'maxIter'"
    with pytest.raises(ConfigError, match=match):
        SparkNetworkClassifier().copy({"maxIter": 2})


def test_without_a_network_the_error_says_so():
    with pytest.raises(ConfigError, match="SparkNetworkClassifier.network must be given"):
        SparkNetworkClassifier().getNetwork()


def test_listeners_are_members_of_their_family():
    with pytest.raises(TypeError, match="listeners must be members of sparkdl.listeners, got 3"):
        SparkNetworkClassifier(listeners=[3])
    one = SparkNetworkClassifier(listeners=(stopping := EarlyStopping()))
    assert (one.getListeners(), SparkNetworkClassifier().getListeners()) == ([stopping], [])


def test_set_params_takes_what_the_constructor_takes():
    one = SparkNetworkClassifier().setParams(maxIter=4, batchSize=8)
    assert (one.getMaxIter(), one.getBatchSize()) == (4, 8)
    for call in (SparkNetworkClassifier, SparkNetworkClassifier().setParams):
        with pytest.raises(
            ConfigError, match="^SparkNetworkClassifier has no option 'epochs'; .*'max"
        ):
            call(epochs=3)


def test_an_attribute_before_the_constructor_is_missing_as_usual():
    bare = object.__new__(SparkNetworkClassifier)
    assert not hasattr(bare, "uid") and not hasattr(bare, "learningRate")
