"""Options and types of other systems that are set in another place here, or need not be set.

Words are compared in lower case without "_" (names.key). A cure belongs to the class that lacks the
option, or to one of its bases; "Layer type" and the like hold names of members.
"""

NETWORK = "it is the network's: NetworkConf({})"
OPTIMIZER = NETWORK.format("optimizer=Adam(learning_rate=0.001)")
MASTER = "it is the training master's: AllReduceSGD({})"
FIT = "it is fit's: net.fit(data, {})"
LOSS = "it is the output layer's: Output(units=10, loss='mse')"
LISTENERS = "fit takes listeners=[...], each of a subclass of sparkdl.Listener"
FIGURES = "leave it out: evaluations and validation have it"
METRICS = FIT.format("metrics=[...], validation=...")
STOPPING = FIT.format("listeners=[EarlyStopping(patience=5)], validation=...")
SCHEDULE = NETWORK.format("optimizer=Sgd(learning_rate=StepSchedule(...))")
CLIPPING = NETWORK.format("clipping=ClipNorm(limit=1.0)")
DTYPE = NETWORK.format("dtype='bfloat16'")
AVERAGING = "ParameterAveraging(averaging_frequency=5) and LocalSGD(period=8) have it"
ACCUMULATE = "AllReduceSGD(accumulate=4) has it"
BACKUP = "ParameterServer(mode='sync', backup=2) does not wait for the last 2 workers of an update"
WARM_UP = "LocalSGD(parallel_from=1) trains the first epoch by synchronous SGD"
SHARD = "AllReduceSGD(shard='optimizer') shards the state of the optimizer"
SAME_WORKERS = "leave it out: `workers` stays the same on fewer or more executors"
SLOTS = "it is a setting of Spark: spark.sparkdl.slotTimeout, such as 8m"
MODES = "ParameterServer(mode='async') and ElasticAveraging(mode='async') have modes"
STORE = "ParameterServer(mode='sync') is dist_sync, mode='async' is dist_async; others all-reduce"
LOCAL_FILES = "leave it out: executors keep their records in Spark's own local folders"
PER_NODE = "leave it out: workers= counts all; the slots of the executors say how many run on each"
ORDER = "leave it out: images are (channels, height, width)"
INFERRED = "leave it out: it is inferred from the layer before, and first from input_shape"
DROPOUT = "put Dropout(rate=0.2) before the layer; rate is the probability of dropping"
TRANSPORT = "leave it out: workers meet through the driver, and exchange over sockets or NCCL"
OWN_READS = "leave it out: each executor reads its own part of the data"
WARM_UP_RATE = NETWORK.format("optimizer=Sgd(learning_rate=WarmUpSchedule(...))")
NONE = "there is no such function; compose it of layers"
PLATEAU = FIT.format("listeners=[ReduceLROnPlateau()]")
SHAPE = "leave it out: input_shape, or GraphConf.inputs, says what comes in"
RATE = "write optimizer=Adam(learning_rate=0.001), or rate_factor=0.1, a factor of the network's"
OF_LOSS = (
    "leave it out: the loss sets it: softmax by default, sigmoid with "
    "loss='sigmoid_cross_entropy', none with loss='mse'"
)
AVERAGE = "network.with_averaged_weights() then has the average"
MOMENTUM = "write Momentum(learning_rate=0.01, momentum=0.9), or Nesterov(...)"

CURES = {
    "TrainingMaster": {
        "accumulategradbatches": ACCUMULATE,
        "amp": DTYPE,
        "averagingfrequency": AVERAGING,
        "backwardpassesperstep": ACCUMULATE,
        "bf16": DTYPE,
        "callbacks": LISTENERS,
        "checkpoint": FIT.format("checkpoints=Checkpoints(path=folder)"),
        "checkpoints": FIT.format("checkpoints=Checkpoints(path=folder)"),
        "clipnorm": CLIPPING,
        "clippingthresholdpersample": CLIPPING,
        "collecttrainingstats": "leave it out: the History of a fit has the times of each round",
        "controlleraddress": TRANSPORT,
        "distributedafter": WARM_UP,
        "distributedmbreading": OWN_READS,
        "dtype": DTYPE,
        "earlystoppatience": STOPPING,
        "epochs": FIT.format("epochs=5"),
        "exportdirectory": LOCAL_FILES,
        "fp16": DTYPE,
        "frequency": AVERAGING,
        "gpusperworker": PER_NODE,
        "gradientaccumulationsteps": ACCUMULATE,
        "gradientclipping": CLIPPING,
        "inputmode": OWN_READS,
        "itersize": ACCUMULATE,
        "kvstore": STORE,
        "learningrate": OPTIMIZER,
        "listeners": LISTENERS,
        "localmode": "leave it out: the master of the Spark session says where tasks run",
        "loss": LOSS,
        "lr": OPTIMIZER,
        "maxnumproc": SAME_WORKERS,
        "meshbuildmode": TRANSPORT,
        "metrics": METRICS,
        "minnumproc": SAME_WORKERS,
        "mixedprecision": DTYPE,
        "mode": MODES,
        "momentum": NETWORK.format("optimizer=Momentum(learning_rate=0.01, momentum=0.9)"),
        "nthread": "it is a setting of Spark: spark.task.cpus are a worker's threads",
        "numepochs": FIT.format("epochs=5"),
        "numps": "ParameterServer(servers=2) has as many workers that store parameters",
        "numservers": "ParameterServer(servers=2) has as many workers that store parameters",
        "op": "leave it out: gradients are averaged over all examples",
        "optimizer": OPTIMIZER,
        "optimizerparams": OPTIMIZER,
        "parallelizationmethod": "each has a master: AllReduceSGD, LocalSGD, BlockMomentum",
        "parallelizationstartepoch": WARM_UP,
        "parameterservermode": "leave it out: parameter servers use their own sockets",
        "patience": STOPPING,
        "precision": DTYPE,
        "rdddatasetnumexamples": "leave it out: records are put into minibatches by the workers",
        "rddtrainingapproach": LOCAL_FILES,
        "replicastoaggregate": BACKUP,
        "reservationtimeout": SLOTS,
        "resources": "SparkNetwork(sc, conf, tm, resources=profile) takes a ResourceProfile",
        "saveupdater": "ParameterAveraging and LocalSGD have it: average_optimizer_state=True",
        "shardingstrategy": SHARD,
        "stage": SHARD,
        "starttimeout": SLOTS,
        "trainepochs": FIT.format("epochs=5"),
        "traininghooks": LISTENERS,
        "transport": TRANSPORT,
        "transporttype": TRANSPORT,
        "updateonkvstore": STORE,
        "updater": OPTIMIZER,
        "usefp16": DTYPE,
        "usegloo": TRANSPORT,
        "usempi": TRANSPORT,
        "validation": FIT.format("validation=..."),
        "variableaverages": NETWORK.format("optimizer=Adam(ema_decay=0.999)"),
        "verbose": FIT.format("listeners=[ProgressBar()]"),
        "weightdecay": NETWORK.format("l2=0.0005"),
        "workerspernode": PER_NODE,
        "zerooptimization": SHARD,
        "zerostage": SHARD,
    },
    "Conf": {
        "averageloss": "leave it out: a round's report has the mean loss",
        "averagingfrequency": AVERAGING,
        "backwardpassesperstep": ACCUMULATE,
        "baselr": NETWORK.format("optimizer=Sgd(learning_rate=0.01)"),
        "batchsize": MASTER.format("batch_size_per_worker=64"),
        "callbacks": LISTENERS,
        "device": MASTER.format("device='cuda'"),
        "display": FIT.format("listeners=[ProgressBar()]"),
        "dropout": "add a layer Dropout(rate=0.2); rate is the probability of dropping",
        "epochs": FIT.format("epochs=5"),
        "fp16": "write dtype='float16', or dtype='bfloat16'",
        "gamma": SCHEDULE,
        "globalgradscale": "leave it out: with dtype='float16' the loss is scaled",
        "gradientaccumulationsteps": ACCUMULATE,
        "itersize": ACCUMULATE,
        "learningrate": OPTIMIZER,
        "listeners": LISTENERS,
        "loss": LOSS,
        "lossfn": LOSS,
        "lossfunction": LOSS,
        "lr": OPTIMIZER,
        "lrpolicy": SCHEDULE,
        "maxiter": FIT.format("updates=10000"),
        "metrics": METRICS,
        "minlr": SCHEDULE,
        "momentum": NETWORK.format("optimizer=Momentum(learning_rate=0.01, momentum=0.9)"),
        "momentum2": OPTIMIZER,
        "numclasses": "it is the output layer's: Output(units=10)",
        "numworkers": MASTER.format("workers=4"),
        "optimizationalgo": OPTIMIZER,
        "patience": STOPPING,
        "power": SCHEDULE,
        "rampupinterval": WARM_UP_RATE,
        "rampuplr": WARM_UP_RATE,
        "rmsdecay": OPTIMIZER,
        "schedule": SCHEDULE,
        "snapshot": FIT.format("checkpoints=Checkpoints(path=folder)"),
        "snapshotprefix": FIT.format("checkpoints=Checkpoints(path=folder)"),
        "solvermode": MASTER.format("device='cuda'"),
        "stepsize": SCHEDULE,
        "stepvalue": SCHEDULE,
        "testinterval": FIT.format("validate_every=500, validation=..."),
        "testiter": "leave it out: all records of `validation` count; give fewer",
        "tm": "it is given to SparkNetwork(sc, conf, tm)",
        "trainingmaster": "it is given to SparkNetwork(sc, conf, tm)",
        "type": OPTIMIZER,
        "usegpu": MASTER.format("device='cuda'"),
    },
    "Layer": {
        "activityregularizer": "leave it out: penalties are of weights (l1, l2); AddedLoss adds"
        " a loss of your own",
        "dataformat": ORDER,
        "dropout": DROPOUT,
        "gradientnormalization": CLIPPING,
        "gradientnormalizationthreshold": CLIPPING,
        "haslayernorm": "put LayerNorm() after the layer",
        "inchannels": INFERRED,
        "infeatures": INFERRED,
        "inputdim": INFERRED,
        "inputshape": NETWORK.format("input_shape=(4,), layers=[...]"),
        "learningrate": RATE,
        "lr": RATE,
        "nin": INFERRED,
        "numfeatures": INFERRED,
        "trainable": "write Frozen(layer=...): it works as at inference",
    },
    "BatchNorm": {
        "decay": "it is called momentum here: the factor of the old running means",
        "useglobalstats": "write Frozen(layer=BatchNorm()): it uses its running means",
        "usescale": "it is called scale here",
    },
    "Optimizer": {
        "amsgrad": "write AMSGrad(learning_rate=0.001)",
        "clipnorm": CLIPPING,
        "clipvalue": NETWORK.format("clipping=ClipValue(limit=0.5)"),
        "emaoverwritefrequency": f"leave it out: weights stay as trained; {AVERAGE}",
        "globalclipnorm": CLIPPING,
        "lrpolicy": "it is learning_rate: StepSchedule(...) and other schedules",
        "nesterov": "write Nesterov(learning_rate=0.01, momentum=0.9)",
        "useema": f"write ema_decay=0.999; {AVERAGE}",
    },
    "ScoredLayer": {"activation": OF_LOSS, "activationfn": OF_LOSS},
    "Sgd": {"momentum": MOMENTUM},
    "Layer type": {
        "accuracy": FIGURES,
        "cosdata": "the data is fit's: net.fit(DataFrames(path=...))",
        "data": "the data is fit's: net.fit(LMDB(path))",
        "dummydata": "leave it out: fit is given the data",
        "embeddingbag": "it is no layer: GraphConf(bags=[EmbeddingBag(...)])",
        "hdf5data": "the data is fit's: net.fit(HDF5(path=...))",
        "hdf5output": "leave it out: net.features(data, layers) gives outputs of layers",
        "imagedata": "the data is fit's: net.fit(Images(path=...))",
        "input": SHAPE,
        "inputlayer": SHAPE,
        "lambda": "write a subclass of Layer",
        "memorydata": "leave it out: fit is given the data",
        "silence": "leave it out: an output that nothing uses is not computed",
        "split": "leave it out: several vertices may have the same input",
    },
    "ActivationFunction type": {
        "glu": NONE,
        "prelu": "it is a layer: PRelu()",
        "rrelu": "it is a layer: RRelu()",
        "softmin": NONE,
    },
    "Schedule type": {
        "plateau": PLATEAU,
        "reducelronplateau": PLATEAU,
    },
    "Source type": {
        "orc": "Spark reads it: net.fit(spark.read.orc(path))",
    },
    "Codec type": {
        "no": "leave it out: without a codec float32 is sent",
        "none": "leave it out: without a codec float32 is sent",
    },
    "Optimizer type": {
        "asgd": "there is none; use Sgd",
        "exponentialmovingaverage": f"it is an option: Adam(ema_decay=0.999); {AVERAGE}",
        "lbfgs": "it is a solver, for full batches: sparkdl.solvers.Lbfgs",
        "movingaverage": f"it is an option: Adam(ema_decay=0.999); {AVERAGE}",
        "radam": "there is none; use Adam with WarmUpSchedule",
    },
}

OWN = {  # family: how a function or an object of a user's becomes a member
    "ActivationFunction": "write your own as a subclass of sparkdl.activations.ActivationFunction",
    "Loss": "write your own as a subclass of sparkdl.losses.Loss, whose per_example(z, labels) "
    "computes by sparkdl.engine.ops",
    "Optimizer": "write your own as a subclass of sparkdl.Optimizer",
}


def cure_for(word, kinds):
    """Returns advice for a word (see names.key) that classes do not know, or ""."""
    tables = (CURES.get(kind, {}) for kind in kinds)
    return next((table[word] for table in tables if word in table), "")
