"""Options and types of other systems lead to ours, and no other word is guessed."""

import re
from dataclasses import fields
from functools import cache
from importlib import import_module

import pytest

import sparkdl
import sparkdl.nn as nn
from sparkdl.config import Member
from sparkdl.config.foreign_cures import CURES, cure_for
from sparkdl.config.foreign_notes import NOTES
from sparkdl.config.names import edits, key, nearest
from sparkdl.errors import ConfigError

AVERAGING, SYNC = sparkdl.ParameterAveraging, sparkdl.AllReduceSGD
BATCHES, BLOCKS = sparkdl.LocalSGD, sparkdl.BlockMomentum
SERVER, SHARING = sparkdl.ParameterServer, sparkdl.GradientSharing

# (class, their option, what the error says)
OPTIONS = [
    (AVERAGING, "saveUpdater", "did you mean 'average_optimizer_state'?"),
    (SYNC, "saveUpdater", "ParameterAveraging and LocalSGD have it"),
    (AVERAGING, "repartionData", "did you mean 'repartition'?"),
    (AVERAGING, "repartitionStrategy", "did you mean 'repartition'?"),
    (AVERAGING, "storageLevelStreams", "did you mean 'storage_level'?"),
    (AVERAGING, "workerPrefetchNumBatches", "did you mean 'prefetch'?"),
    (AVERAGING, "rngSeed", "did you mean 'seed'?"),
    (AVERAGING, "rddTrainingApproach", "in Spark's own local folders"),
    (AVERAGING, "exportDirectory", "in Spark's own local folders"),
    (AVERAGING, "collectTrainingStats", "the History of a fit has the times"),
    (AVERAGING, "trainingHooks", "fit takes listeners=[...]"),
    (AVERAGING, "frequency", "did you mean 'averaging_frequency'? (minibatches between"),
    (AVERAGING, "num_workers", "did you mean 'workers'?"),
    (AVERAGING, "num_proc", "did you mean 'workers'?"),
    (AVERAGING, "num_processes", "did you mean 'workers'?"),
    (SYNC, "num_proc", "did you mean 'workers'?"),
    (SYNC, "num_processes", "did you mean 'workers'?"),
    (SYNC, "mode", "ParameterServer(mode='async')"),
    (SYNC, "parameter_server_mode", "parameter servers use their own sockets"),
    (SYNC, "backward_passes_per_step", "did you mean 'accumulate'?"),
    (AVERAGING, "backward_passes_per_step", "AllReduceSGD(accumulate=4) has it"),
    (SYNC, "iter_size", "did you mean 'accumulate'?"),
    (SYNC, "kvstore", "ParameterServer(mode='sync') is dist_sync"),
    (SYNC, "compression", "did you mean 'codec'? (fp16 is codec='Half'"),
    (SYNC, "gradient_compression", "did you mean 'codec'?"),
    (SYNC, "gradientBits", "1 bit is codec='OneBit'"),
    (SYNC, "num_quantization_bits", "did you mean 'codec'?"),
    (SYNC, "use_gpu", "did you mean 'device'? (device='cuda'"),
    (SYNC, "fp16", "NetworkConf(dtype='bfloat16')"),
    (SYNC, "start_timeout", "spark.sparkdl.slotTimeout"),
    (SYNC, "nics", "did you mean 'interface'?"),
    (SYNC, "min_num_proc", "`workers` stays the same on fewer or more executors"),
    (SYNC, "reset_limit", "did you mean 'max_restarts'?"),
    (SYNC, "bucket_cap_mb", "did you mean 'bucket_bytes'?"),
    (SYNC, "zero_stage", "did you mean 'shard'?"),
    (SHARING, "thresholdAlgorithm", "(codec=Threshold(rule=AdaptiveThreshold(), clip=5.0))"),
    (SHARING, "residualPostProcessor", "did you mean 'codec'?"),
    (sparkdl.codecs.Threshold, "thresholdAlgorithm", "did you mean 'rule'?"),
    (sparkdl.codecs.Threshold, "residualPostProcessor", "did you mean 'clip'?"),
    (BLOCKS, "resetSGDMomentum", "did you mean 'reset_sgd_momentum_after_aggregation'?"),
    (BLOCKS, "use_nestrov_momentum", "did you mean 'use_nesterov_momentum'?"),
    (BLOCKS, "syncPeriod", "did you mean 'block_size_per_worker'? (per worker, where theirs"),
    (BLOCKS, "block_size", "did you mean 'block_size_per_worker'?"),
    (BLOCKS, "blockMomentumPerSync", "did you mean 'block_momentum'?"),
    (BATCHES, "distributed_after", "did you mean 'parallel_from'?"),
    (SYNC, "distributed_after", "LocalSGD(parallel_from=1)"),
    (SERVER, "replicas_to_aggregate", "did you mean 'backup'? (it is workers - backup"),
    (SYNC, "replicas_to_aggregate", "ParameterServer(mode='sync', backup=2)"),
    (SERVER, "num_ps", "did you mean 'servers'?"),
    (SYNC, "num_ps", "ParameterServer(servers=2)"),
    (SERVER, "syncPeriodPerWorker", "did you mean 'push_every'?"),
    (sparkdl.losses.SoftmaxCrossEntropy, "gamma", "did you mean 'focal_gamma'?"),
    (sparkdl.losses.SoftmaxCrossEntropy, "alpha", "did you mean 'class_weights'?"),
    (sparkdl.losses.SigmoidCrossEntropy, "alpha", "did you mean 'focal_alpha'?"),
    (sparkdl.losses.SoftmaxCrossEntropy, "ignore_index", "did you mean 'ignore_label'?"),
    (nn.Dense, "lr_mult", "did you mean 'rate_factor'?"),
    (nn.Output, "activation", "the loss sets it: softmax by default, sigmoid with loss="),
    (nn.LossLayer, "activation_fn", "the loss sets it: softmax by default"),
    (nn.Dense, "dropOut", "put Dropout(rate=0.2) before the layer"),
    (nn.Dense, "kernel_regularizer", "did you mean 'l1' or 'l2'? (Keras's L2(c) is l2=2c"),
    (nn.Dense, "in_features", "it is inferred from the layer before"),
    (nn.Dense, "lr", "or rate_factor=0.1, a factor of the network's"),
    (nn.Conv2D, "data_format", "images are (channels, height, width)"),
    (nn.NetworkConf, "base_lr", "NetworkConf(optimizer=Sgd(learning_rate=0.01))"),
    (nn.NetworkConf, "iter_size", "AllReduceSGD(accumulate=4)"),
    (nn.NetworkConf, "max_iter", "net.fit(data, updates=10000)"),
    (nn.NetworkConf, "batch_size", "AllReduceSGD(batch_size_per_worker=64)"),
    (nn.NetworkConf, "fp16", "did you mean 'dtype'?"),
    (nn.Sgd, "momentum", "Momentum(learning_rate=0.01, momentum=0.9)"),
    (nn.Adam, "clipnorm", "NetworkConf(clipping=ClipNorm(limit=1.0))"),
    (nn.Adam, "use_ema", "write ema_decay=0.999; network.with_averaged_weights()"),
    (nn.Adam, "ema_momentum", "did you mean 'ema_decay'?"),
    (nn.Adam, "ema_overwrite_frequency", "leave it out: weights stay as trained"),
    (nn.Adam, "average_decay", "did you mean 'ema_decay'?"),
    (SERVER, "variable_averages", "NetworkConf(optimizer=Adam(ema_decay=0.999))"),
]

# (family, their name of a member, what the error says)
TYPES = [
    ("Codec", "1bit", "did you mean 'OneBit'?"),
    ("Codec", "2bit", "did you mean 'TwoBit'?"),
    ("Codec", "fp16", "did you mean 'Half'?"),
    ("Codec", "none", "leave it out: without a codec float32 is sent"),
    ("Layer", "Slice", "did you mean 'Subset'?"),
    ("Layer", "LeakyReLU", "'Activation'? (Activation(function='leaky_relu'))"),
    ("Layer", "GELU", "'Activation'? (Activation(function='gelu'))"),
    ("Layer", "SoftmaxWithLoss", "did you mean 'Output' or 'LossLayer'? (softmax cross-entropy"),
    ("Layer", "GlobalAveragePooling2D", "did you mean 'GlobalPool'?"),
    ("Layer", "Silence", "leave it out"),
    ("Layer", "EmbeddingBag", "GraphConf(bags=[EmbeddingBag(...)])"),
    ("Layer", "Dropout2d", "did you mean 'SpatialDropout'?"),
    ("Layer", "Dot", "did you mean 'MatMul'?"),
    ("ActivationFunction", "prelu", "it is a layer: PRelu()"),
    ("ActivationFunction", "softmin", "there is no such function"),
    (
        "Loss",
        "FocalLoss",
        "'sigmoid_cross_entropy'? (its option focal_gamma=2.0 makes it the focal",
    ),
    ("Loss", "DiceLoss", "did you mean 'dice'?"),
    ("Clipping", "RenormalizeL2PerLayer", "did you mean 'UnitLayerNorm'?"),
    ("Schedule", "PolySchedule", "did you mean 'PolynomialSchedule'?"),
    ("Schedule", "ReduceLROnPlateau", "listeners=[ReduceLROnPlateau()]"),
    ("Source", "ImageFolder", "did you mean 'Images'?"),
    ("Source", "Json", "did you mean 'DataFrames'?"),
    ("Source", "ORC", "net.fit(spark.read.orc(path))"),
    ("Optimizer", "RAdam", "there is none"),
    ("Optimizer", "ExponentialMovingAverage", "it is an option: Adam(ema_decay=0.999)"),
    ("Optimizer", "MovingAverage", "it is an option: Adam(ema_decay=0.999)"),
    ("TrainingMaster", "ParameterAveragingTrainingMaster", "did you mean 'ParameterAveraging'?"),
    ("TrainingMaster", "SharedTrainingMaster", "did you mean 'GradientSharing'?"),
    ("TrainingMaster", "dist_async", "(ParameterServer(mode='async'))"),
]

PLACES = sparkdl, sparkdl.schedules, sparkdl.clipping

# Words that resemble an option, but mean something else.
UNLIKE = [
    ("saveUpdater", ["snapshot_every"]),
    ("num_proc", ["sync_epochs"]),
    ("1bit", ["TwoBit"]),
    ("none", ["OneBit"]),
    ("iter_size", ["interface"]),
    ("kvstore", ["storage_level"]),
    ("minPartitions", ["validation"]),
    ("resources", ["resume"]),
    ("patience", ["updates"]),
    ("Slice", ["L2Distance"]),
    ("LeakyReLU", ["Learned"]),
    ("GELU", ["GRU"]),
    ("lr", ["l1", "l2"]),
    ("weight", ["weight_noise"]),
    ("rate", ["rate_factor"]),
]
ALIKE = [
    ("unit", "units"),
    ("alhpa", "alpha"),
    ("hihg", "high"),
    ("sun", "sum"),
    ("averaging_frequenzy", "averaging_frequency"),
    ("BatchSizePerWorker", "batch_size_per_worker"),
    ("ParameterAverage", "ParameterAveraging"),
    ("init", "initializer"),
    ("optim", "optimizer"),
]


@cache
def families():
    """Returns {name: base of a family}, with all members loaded."""
    for module in sparkdl.MODULES:
        import_module(f"sparkdl.{module}")
    found = {one.__name__: one for one in Member.__subclasses__()}
    for family in found.values():
        list(family.members.values())  # imports them
    return found


@pytest.mark.parametrize(
    "kind, name, cure", OPTIONS, ids=[f"{k.__name__}-{n}" for k, n, _ in OPTIONS]
)
def test_an_option_of_another_system_is_refused_with_the_cure(kind, name, cure):
    with pytest.raises(ConfigError) as caught:
        kind(**{name: 1})
    assert str(caught.value).startswith(f"{kind.__name__} has no field '{name}'; ")
    assert cure in str(caught.value)


@pytest.mark.parametrize("family, name, cure", TYPES, ids=[f"{f}-{n}" for f, n, _ in TYPES])
def test_a_type_of_another_system_is_refused_with_the_cure(family, name, cure):
    with pytest.raises(ConfigError) as caught:
        families()[family].find(name, "")
    assert cure in str(caught.value)


def test_a_word_that_means_something_else_is_not_guessed():
    assert not [name for name, known in UNLIKE if nearest(name, known)]


def test_a_misspelling_or_an_abbreviation_is_guessed():
    known = {other for _, other in ALIKE}
    assert {name: nearest(name, known) for name, _ in ALIKE} == {a: [b] for a, b in ALIKE}


def test_words_of_other_systems_are_known_in_singular_and_plural():
    with pytest.raises(ConfigError, match="did you mean 'units'"):
        sparkdl.Dense(out_feature=3)
    with pytest.raises(ConfigError, match="did you mean 'filters'"):
        sparkdl.Conv2D(num_filter=3)


def test_names_that_are_equally_near_are_all_named():
    assert nearest("beta", ["beta2", "epsilon", "beta1"]) == ["beta1", "beta2"]
    with pytest.raises(ConfigError, match="did you mean 'beta1' or 'beta2'"):
        sparkdl.Adam(beta=0.9)


# Distances of Damerau's and Levenshtein's textbook pairs, counted by hand.
@pytest.mark.parametrize(
    "word, other, count",
    [("kitten", "sitting", 3), ("ab", "ba", 1), ("", "abc", 3), ("ca", "abc", 3), ("a", "a", 0)],
)
def test_counts_the_edits_between_two_words(word, other, count):
    assert edits(word, other) == edits(other, word) == count


def test_every_cure_belongs_to_a_class_that_lacks_the_option():
    bases = {base for family in families().values() for base in subclasses(family)}
    bases |= {nn.NetworkConf.__mro__[1]}
    classes = {base.__name__: base for base in bases}
    for kind, table in CURES.items():
        assert [word for word in table if word != key(word)] == []
        if kind.endswith(" type"):
            assert not {key(name) for name in families()[kind[:-5]].members} & {*table}
        else:
            assert not {key(item.name) for item in fields(classes[kind])} & {*table}, kind


def subclasses(cls):
    return {cls, *(one for child in cls.__subclasses__() for one in subclasses(child))}


def test_what_a_cure_writes_down_is_there():
    text = " ".join(cure for table in CURES.values() for cure in table.values())
    for name in {*re.findall(r"\b([A-Z]\w+)\(", text)}:
        assert any(hasattr(place, name) for place in PLACES), name
    made = re.findall(
        r"((?:ParameterServer|LocalSGD|AllReduceSGD|ElasticAveraging)\([^()]+\))", text
    )
    for call in {*made, *re.findall(r"(Clip\w+\([^()]+\))", text)}:
        assert eval(call, vars(sparkdl.masters) | vars(sparkdl.clipping)), call


def test_the_activations_and_affine_layers_of_notes_can_be_made():
    names = (
        vars(nn) | vars(sparkdl.activations) | {"Activation": nn.Activation, "Affine": nn.Affine}
    )
    notes = [note for note in NOTES["Layer"].values() if note[-1] == ")" and note[0] == "A"]
    assert len(notes) > 20 and all(eval(note, names) for note in notes)


def test_a_word_without_a_cure_has_none():
    assert cure_for("zzz", ["AllReduceSGD", "TrainingMaster"]) == ""
