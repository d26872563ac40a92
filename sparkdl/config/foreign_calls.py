"""Options of fit, evaluate, predict and callbacks in Keras, Lightning, DL4J, Caffe and others.

Names are compared in lower case without "_" (names.key). SAME has options that only have another
name here; those known to the method at hand are suggested. ELSEWHERE says how to get what is set
somewhere else here, by class and method, or by method.
"""

from sparkdl.config.names import key, other_number

SAME = {
    "checkpointdir": "checkpoints",
    "checkpointpath": "checkpoints",
    "ckptpath": "resume",
    "clustersize": "numWorkers",
    "conf": "network",
    "dataframe": "data",
    "dataloader": "data",
    "dataset": "data",
    "datasetiterator": "data",
    "df": "data",
    "direction": "mode",
    "earlystoppatience": "patience",
    "earlystoppingrounds": "patience",
    "epochs": "maxIter",
    "evalmetric": "monitor",
    "evalset": "validation",
    "featurecols": "features featuresCol",
    "featurescol": "features",
    "initmodel": "resume",
    "inputcol": "features featuresCol",
    "inputcols": "features featuresCol",
    "inputs": "data features",
    "iterator": "data",
    "iters": "epochs maxIter",
    "kerasmodel": "network conf",
    "labelcol": "label",
    "labelcols": "label labelCol",
    "master": "tm",
    "maxepochs": "epochs maxIter",
    "maxevals": "trials",
    "maxiter": "updates",
    "maxsteps": "updates",
    "maxtrials": "trials",
    "metric": "monitor",
    "minibatch": "batchSize",
    "minibatchsize": "batchSize",
    "model": "conf network",
    "modeldir": "checkpoints",
    "nbepoch": "epochs maxIter",
    "nepochs": "epochs maxIter",
    "nestimators": "maxIter",
    "net": "conf network",
    "network": "conf",
    "njobs": "parallelism",
    "nrounds": "epochs maxIter",
    "ntrials": "trials",
    "numboostround": "maxIter",
    "numepochs": "epochs maxIter",
    "numiterations": "updates",
    "numproc": "numWorkers",
    "numprocesses": "numWorkers",
    "numsamples": "trials",
    "numtrials": "trials",
    "outputcol": "prediction predictionCol",
    "predictioncol": "prediction",
    "preprocessing": "transform",
    "probabilitycol": "probability",
    "rawpredictioncol": "rawPredictionCol",
    "rdd": "data",
    "resumefromcheckpoint": "resume",
    "sampleweightcol": "weights weightCol",
    "searchspace": "define",
    "space": "define",
    "steps": "updates",
    "target": "label",
    "testdata": "validation data",
    "testinterval": "validate_every",
    "tm": "master",
    "torchobj": "network conf",
    "traindata": "data",
    "traindataloaders": "data",
    "trainingdata": "data",
    "trainingmaster": "master tm",
    "trainingset": "data",
    "transform": "preprocessing",
    "transformationfn": "transform preprocessing",
    "valcheckinterval": "validate_every",
    "valdata": "validation",
    "valdataloaders": "validation",
    "validationdata": "validation",
    "validationdataset": "validation",
    "validationdf": "validation",
    "validationfreq": "validate_every",
    "validationindicator": "validationIndicatorCol",
    "validationpct": "validation_split validationSplit",
    "validationrdd": "validation",
    "validationset": "validation",
    "valrdd": "validation",
    "valset": "validation",
    "warmstart": "resume",
    "weightcol": "weights",
    "x": "data features",
    "xgbmodel": "network",
}

# Hooks of Keras's and Lightning's callbacks, and the corresponding events of a Listener.
EVENTS = {
    "onbatchend": "on_round",
    "onepochend": "on_epoch",
    "ontestend": "on_validation",
    "ontrainbatchend": "on_round",
    "ontrainbegin": "on_fit_start",
    "ontrainend": "on_fit_end",
    "ontrainepochend": "on_epoch",
    "ontrainstart": "on_fit_start",
    "onvalidationend": "on_validation",
    "onvalidationepochend": "on_validation",
}

MASTER = "it is the training master's: ParameterAveraging({})"
FIT = "it is fit's: net.fit({})"
PARTS = "leave it out: workers= of the training master says how many parts there are"
CLASSES = "leave it out: labels are classes from 0 on; Output(units=10) has ten"
READS = "leave it out: executors read and keep the data themselves"
SLOTS = "leave it out: the slots of the executors say how many workers run on each"
OWN_METRICS = "leave it out: evaluations have figures; SparkNetwork.fit(metrics=...) takes your own"
FIT_SEARCH = "it is fit's: search.fit({})"
STUDY = "it is the study's: study=optuna.create_study({})"
BATCHES = "leave it out: but for rounding, the output does not depend on it"
RECORDS = "an RDD of (features, label) pairs or a DataFrame holds both: give it as data"
COLUMN = "put it into a column and name that: weights='weight'"
WEIGHTS = "give it as a column: Arrays({'features': x, 'weights': w}, labels)"
PAIR = "give both as data=(features, labels)"

OF_NETWORK = (
    "it is the network's: NetworkConf({}); a grid over it is one over networks: "
    "addGrid(estimator.network, [...])"
)
OPTIMIZER = OF_NETWORK.format("optimizer=Adam(learning_rate=0.001)")

ESTIMATOR = {
    "device": "write master=ParameterAveraging(device='cuda')",
    "kerasmodelconfig": "write network=read_keras(model).network",
    "l2": OF_NETWORK.format("l2=0.0005"),
    "layers": OF_NETWORK.format("layers=[Dense(units=16), Output(units=2)]"),
    "learningrate": OPTIMIZER,
    "lr": OPTIMIZER,
    "optimizer": OPTIMIZER,
    "regparam": OF_NETWORK.format("l2=0.0005"),
    "runid": "write checkpoints=Checkpoints(path=...), resume=True",
    "stepsize": OPTIMIZER,
    "usegpu": "write master=ParameterAveraging(device='cuda')",
    "validation": "write validationSplit=0.1, or validationIndicatorCol='is_validation'",
}

ELSEWHERE = {
    "SparkNetwork.__init__": {
        "batchsize": MASTER.format("batch_size_per_worker=64"),
        "customobjects": "leave it out: an imported subclass of Layer is known by its name",
        "data": FIT.format("data"),
        "epochs": FIT.format("data, epochs=5"),
        "listeners": FIT.format("data, listeners=[...]"),
        "metrics": FIT.format("data, metrics=[...], validation=..."),
        "parameterservermode": "leave it out: parameter servers use their own sockets",
        "port": "it is the training master's: ParameterServer(ports='40000-40100')",
        "validation": FIT.format("data, validation=test"),
    },
    "SparkNetwork.fit": {
        "labels": RECORDS,
        "master": "it is given to SparkNetwork(sc, conf, tm)",
        "resources": "they are given to SparkNetwork(sc, conf, tm, resources=profile)",
        "sampleweight": COLUMN,
        "tm": "it is given to SparkNetwork(sc, conf, tm)",
        "trainingmaster": "it is given to SparkNetwork(sc, conf, tm)",
        "validationindicatorcol": (
            "divide the rows: fit(df.where('not is_validation'), "
            "validation=df.where('is_validation'))"
        ),
        "y": RECORDS,
    },
    "Network.__init__": {
        "epochs": FIT.format("(x, y), epochs=5"),
        "master": FIT.format("(x, y), master=ParameterAveraging(workers=4)"),
        "metrics": FIT.format("(x, y), metrics=[...], validation=..."),
        "sc": "SparkNetwork(sc, conf) trains on Spark; Network(conf) needs none",
        "tm": FIT.format("(x, y), master=ParameterAveraging(workers=4)"),
        "trainingmaster": FIT.format("(x, y), master=ParameterAveraging(workers=4)"),
        "workers": FIT.format("(x, y), workers=LocalWorkers(4)"),
    },
    "Network.fit": {
        "features": PAIR,
        "label": PAIR,
        "labels": PAIR,
        "sampleweight": WEIGHTS,
        "transform": "it is the source's: Arrays(features, labels, transform=...)",
        "weights": WEIGHTS,
        "y": PAIR,
    },
    "SparkNetwork.evaluate": {"labels": RECORDS, "sampleweight": COLUMN, "y": RECORDS},
    "Network.evaluate": {
        "features": PAIR,
        "labels": PAIR,
        "sampleweight": WEIGHTS,
        "weights": WEIGHTS,
        "y": PAIR,
    },
    "Search.__init__": {
        "algo": STUDY.format("sampler=..."),
        "data": FIT_SEARCH.format("data, trials=20"),
        "maxevals": FIT_SEARCH.format("data, trials=20"),
        "maxtrials": FIT_SEARCH.format("data, trials=20"),
        "model": "`define` returns a conf for each trial",
        "ntrials": FIT_SEARCH.format("data, trials=20"),
        "numsamples": FIT_SEARCH.format("data, trials=20"),
        "numtrials": FIT_SEARCH.format("data, trials=20"),
        "numworkers": "parallelism= says how many trials run at once; master=, how each trains",
        "pruner": STUDY.format("pruner=..."),
        "sampler": STUDY.format("sampler=..."),
        "trials": FIT_SEARCH.format("data, trials=20"),
    },
    **{
        f"SparkNetwork{kind}.__init__": ESTIMATOR
        for kind in ("Classifier", "Regressor", "Estimator")
    },
    "EarlyStopping.__init__": {
        "checkfinite": "leave it out: a loss that is not finite ends every fit",
        "divergencethreshold": "give the fit a listener TerminateOnMaxLoss(10.0), too",
        "stoppingthreshold": "give the fit a listener TerminateOnTarget(0.05), too",
        "target": "give the fit a listener TerminateOnTarget(0.05), too",
        "verbose": "leave it out: history.end_reason says why a fit ended",
    },
    "ModelCheckpoint.__init__": {
        "filepath": "it is called path here",
        "savefreq": "leave it out: it writes after each epoch; Checkpoints has every_rounds",
        "saveweightsonly": "leave it out: a model has its weights and its configuration",
        "verbose": "leave it out: it prints nothing",
    },
    "ReduceLROnPlateau.__init__": {"verbose": "leave it out: the log says each new rate"},
    "fit": {
        "accelerator": MASTER.format("device='cuda'"),
        "accumulategradbatches": "it is the training master's: AllReduceSGD(accumulate=4)",
        "acquirelock": "it is the training master's: ParameterServer(mode='hogwild') has no lock",
        "averagingfrequency": MASTER.format("averaging_frequency=5"),
        "backwardpassesperstep": "it is the training master's: AllReduceSGD(accumulate=4)",
        "batchsize": MASTER.format("batch_size_per_worker=64"),
        "batchsizeperworker": MASTER.format("batch_size_per_worker=64"),
        "callbacks": "give listeners=[...], each of a subclass of sparkdl.Listener",
        "categorical": CLASSES,
        "checkpointcallback": "give listeners=[ModelCheckpoint(path)]",
        "clustersize": MASTER.format("workers=4"),
        "criterion": "it is the output layer's: Output(units=10, loss='mse')",
        "customobjects": "leave it out: an imported subclass of Layer is known by its name",
        "device": MASTER.format("device='cuda'"),
        "devices": SLOTS,
        "earlystoppatience": "give listeners=[EarlyStopping(patience=5)]",
        "earlystoppingrounds": "give listeners=[EarlyStopping(patience=5)]",
        "endtrigger": "epochs= or updates= says when a fit ends",
        "exportdir": "write net.save(path) after the fit",
        "feedtimeout": MASTER.format("stall_timeout=600"),
        "forcerepartition": MASTER.format("repartition='always'"),
        "fp16": "it is the network's: NetworkConf(dtype='bfloat16')",
        "frequency": MASTER.format("averaging_frequency=5"),
        "gpus": MASTER.format("device='cuda'"),
        "gradientaccumulationsteps": "it is the training master's: AllReduceSGD(accumulate=4)",
        "gradientclipval": "it is the network's: NetworkConf(clipping=ClipNorm(limit=1.0))",
        "gradientcompression": "it is the training master's: AllReduceSGD(codec='Half')",
        "initialepoch": "leave it out: epochs go on from those before, also from resume=",
        "inmemorycacheall": READS,
        "inputmapping": "features= and label= name the columns",
        "inputmode": READS,
        "learningrate": "it is the optimizer's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "localmode": "leave it out: the master of the Spark session says where tasks run",
        "logdir": "give listeners=[TensorBoard(folder)]",
        "loss": "it is the output layer's: Output(units=10, loss='mse')",
        "lossfn": "it is the output layer's: Output(units=10, loss='mse')",
        "lossweights": "it is the output layer's: Output(units=10, loss_weight=0.3)",
        "lr": "it is the optimizer's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "metrics": OWN_METRICS,
        "minpartitions": PARTS,
        "missing": "replace missing values first: df.na.fill(0.0), or pyspark.ml's Imputer",
        "mode": "it is the training master's: ParameterServer(mode='async')",
        "nbclasses": CLASSES,
        "nnodes": SLOTS,
        "numclasses": CLASSES,
        "numexecutors": MASTER.format("workers=4"),
        "numgpus": SLOTS,
        "numpartitions": PARTS,
        "numproc": MASTER.format("workers=4"),
        "numprocesses": MASTER.format("workers=4"),
        "numps": "it is the training master's: ParameterServer(servers=2)",
        "numworkers": MASTER.format("workers=4"),
        "objective": "it is the output layer's: Output(units=10, loss='mse')",
        "optimizer": "it is the network's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "optimizerconfig": "it is the network's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "optimmethod": "it is the network's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "partitions": PARTS,
        "partitionshuffles": PARTS,
        "partitionsperprocess": PARTS,
        "patience": "give listeners=[EarlyStopping(patience=5)]",
        "port": "it is the training master's: ParameterServer(ports='40000-40100')",
        "precision": "it is the network's: NetworkConf(dtype='bfloat16')",
        "prefetch": MASTER.format("prefetch=4"),
        "randomseed": MASTER.format("seed=1"),
        "readers": READS,
        "repartitionrandomshuffle": MASTER.format("repartition='always'"),
        "rngseed": MASTER.format("seed=1"),
        "runid": "leave it out: give checkpoints=Checkpoints(path=...), and resume= its folder",
        "seed": MASTER.format("seed=1"),
        "shuffle": "leave it out: records are shuffled, in an order that the master's seed fixes",
        "snapshot": "give checkpoints=Checkpoints(path=...)",
        "stepsperepoch": "leave it out: an epoch has all records once; updates= stops a fit",
        "store": "leave it out: executors read the data themselves; checkpoints= has a folder",
        "tensorboard": "give listeners=[TensorBoard(folder)]",
        "testiter": "leave it out: all records of `validation` count; give fewer",
        "trainreadernumworkers": READS,
        "trainstepsperepoch": "leave it out: an epoch has all records once; updates= stops a fit",
        "usebarrier": "leave it out: the master chooses how its stages run",
        "usegpu": MASTER.format("device='cuda'"),
        "valbatchsize": BATCHES,
        "validationbatchsize": BATCHES,
        "validationsteps": "leave it out: all records of `validation` count; give fewer",
        "validationstepsperepoch": "leave it out: all records of `validation` count; give fewer",
        "valmethod": OWN_METRICS,
        "verbose": "give listeners=[ProgressBar()] to see the progress",
        "weightdecay": "it is the network's: NetworkConf(l2=0.0005)",
        "workers": MASTER.format("workers=4"),
        "workerspernode": SLOTS,
    },
    "evaluate": {
        "batchsize": BATCHES,
        "callbacks": "leave it out: listeners are told of a fit alone",
        "returndict": "leave it out: evaluate(...).figures() is a dict",
        "steps": "leave it out: all records count; give fewer",
        "verbose": "leave it out: print the Evaluation that is returned",
    },
    "predict": {
        "batchsize": BATCHES,
        "callbacks": "leave it out: listeners are told of a fit alone",
        "steps": "leave it out: all records are predicted; give fewer",
        "verbose": "leave it out: Spark shows the progress of its jobs",
    },
}


# Constructors that are also told of options of fit.
HAVE_FITS = (
    "SparkNetwork",
    "SparkNetworkClassifier",
    "SparkNetworkRegressor",
    "SparkNetworkEstimator",
)


def cure_of(name, owner, call, known):
    """Returns "; " and advice for a caller who passed `name` to the method `call`, or "".

    Parameters
    ----------
    name, owner, call : str
    known : collection of str
        Options of the method.
    """
    word = key(name)
    for form in (word, other_number(word)):
        cure = cure_of_word(form, owner, call, known)
        if cure:
            return f"; {cure}"
    return ""


def cure_of_word(word, owner, call, known):
    options = [option for option in known if key(option) == word]
    options += [option for option in (SAME | EVENTS).get(word, "").split() if option in known]
    if options:
        note = " (a round is several minibatches)" if options[0] == "on_round" else ""
        return f"did you mean {options[0]!r}?{note}"
    places = [f"{owner}.{call}", call]
    if call == "__init__" and owner in HAVE_FITS:
        places.append("fit")
    cures = [ELSEWHERE[place][word] for place in places if word in ELSEWHERE.get(place, {})]
    return cures[0] if cures else ""
