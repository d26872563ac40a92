"""Options of fit, evaluate, predict and callbacks in Keras, Lightning, DL4J, Caffe and others.

Names are compared in lower case without "_" (names.key). SAME has options that only have another
name here; those known to the method at hand are suggested. ELSEWHERE says how to get what is set
somewhere else here, by class and method, by method, or for all.
"""

from sparkdl.config.names import key

SAME = {
    "checkpointdir": "checkpoints",
    "checkpointpath": "checkpoints",
    "ckptpath": "resume",
    "dataframe": "data",
    "dataloader": "data",
    "dataset": "data",
    "datasetiterator": "data",
    "df": "data",
    "evalset": "validation",
    "featurecols": "features",
    "featurescol": "features",
    "initmodel": "resume",
    "inputcol": "features",
    "inputcols": "features",
    "inputs": "data features",
    "iterator": "data",
    "labelcol": "label",
    "labelcols": "label",
    "maxepochs": "epochs",
    "maxiter": "updates",
    "maxsteps": "updates",
    "modeldir": "checkpoints",
    "nbepoch": "epochs",
    "nepochs": "epochs",
    "numepochs": "epochs",
    "numiterations": "updates",
    "preprocessing": "transform",
    "rdd": "data",
    "resumefromcheckpoint": "resume",
    "sampleweightcol": "weights",
    "target": "label",
    "testdata": "validation data",
    "testinterval": "validate_every",
    "traindata": "data",
    "traindataloaders": "data",
    "trainingdata": "data",
    "trainingmaster": "master",
    "tm": "master",
    "valcheckinterval": "validate_every",
    "valdata": "validation",
    "valdataloaders": "validation",
    "validationdata": "validation",
    "validationdf": "validation",
    "validationfreq": "validate_every",
    "validationrdd": "validation",
    "weightcol": "weights",
    "x": "data features",
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
BATCHES = "leave it out: the output does not depend on it"
RECORDS = "an RDD of (features, label) pairs or a DataFrame holds both: give it as data"
PAIR = "give both as data=(features, labels)"

ELSEWHERE = {
    "SparkNetwork.fit": {
        "labels": RECORDS,
        "master": "it is given to SparkNetwork(sc, conf, tm)",
        "sampleweight": "put it into a column and name that: weights='weight'",
        "tm": "it is given to SparkNetwork(sc, conf, tm)",
        "trainingmaster": "it is given to SparkNetwork(sc, conf, tm)",
        "y": RECORDS,
    },
    "Network.fit": {
        "features": PAIR,
        "label": PAIR,
        "labels": PAIR,
        "sampleweight": "give it as a column: Arrays({'features': x, 'weights': w}, labels)",
        "transform": "it is the source's: Arrays(features, labels, transform=...)",
        "weights": "give them as a column: Arrays({'features': x, 'weights': w}, labels)",
        "y": PAIR,
    },
    "SparkNetwork.evaluate": {"labels": RECORDS, "y": RECORDS},
    "Network.evaluate": {"features": PAIR, "labels": PAIR, "y": PAIR},
    "EarlyStopping.__init__": {"verbose": "leave it out: history.end_reason says why a fit ended"},
    "ModelCheckpoint.__init__": {
        "filepath": "it is called path here",
        "savefreq": "leave it out: it writes after each epoch; Checkpoints has every_rounds",
        "saveweightsonly": "leave it out: a model has its weights and its configuration",
        "verbose": "leave it out: it prints nothing",
    },
    "ReduceLROnPlateau.__init__": {"verbose": "leave it out: the log says each new rate"},
    "fit": {
        "accelerator": MASTER.format("device='cuda'"),
        "averagingfrequency": MASTER.format("averaging_frequency=5"),
        "batchsize": MASTER.format("batch_size_per_worker=64"),
        "batchsizeperworker": MASTER.format("batch_size_per_worker=64"),
        "callbacks": "give listeners=[...], each of a subclass of sparkdl.Listener",
        "criterion": "it is the output layer's: Output(units=10, loss='mse')",
        "device": MASTER.format("device='cuda'"),
        "initialepoch": "leave it out: epochs go on from those before, also from resume=",
        "learningrate": "it is the optimizer's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "loss": "it is the output layer's: Output(units=10, loss='mse')",
        "lossfn": "it is the output layer's: Output(units=10, loss='mse')",
        "lr": "it is the optimizer's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "metrics": "leave it out: `evaluate` and validation give all figures",
        "numworkers": MASTER.format("workers=4"),
        "optimizer": "it is the network's: NetworkConf(optimizer=Adam(learning_rate=0.001))",
        "prefetch": MASTER.format("prefetch=4"),
        "seed": MASTER.format("seed=1"),
        "shuffle": "leave it out: records are shuffled, in an order that the master's seed fixes",
        "stepsperepoch": "leave it out: an epoch has all records once; updates= stops a fit",
        "validationbatchsize": BATCHES,
        "validationsteps": "leave it out: all records of `validation` count; give fewer",
        "verbose": "give listeners=[ProgressBar()] to see the progress",
        "workers": MASTER.format("workers=4"),
    },
    "evaluate": {
        "batchsize": BATCHES,
        "callbacks": "leave it out: listeners are told of a fit alone",
        "metrics": "leave it out: the Evaluation that is returned has all figures",
        "returndict": "leave it out: evaluate(...).figures() is a dict",
        "sampleweight": "leave it out: each record counts once",
        "steps": "leave it out: all records count; give fewer",
        "verbose": "leave it out: print the Evaluation that is returned",
    },
    "predict": {
        "batchsize": BATCHES,
        "callbacks": "leave it out: listeners are told of a fit alone",
        "outputcol": "rename what comes: withColumnRenamed('prediction', ...)",
        "predictioncol": "rename what comes: withColumnRenamed('prediction', ...)",
        "steps": "leave it out: all records are predicted; give fewer",
        "verbose": "leave it out: Spark shows the progress of its jobs",
    },
}


def cure_of(name, owner, call, known):
    """Returns "; " and advice for a caller who passed `name` to the method `call`, or "".

    Parameters
    ----------
    name, owner, call : str
    known : collection of str
        Options of the method.
    """
    word = key(name)
    options = [option for option in (SAME | EVENTS).get(word, "").split() if option in known]
    if options:
        return f"; did you mean {options[0]!r}?"
    for place in (f"{owner}.{call}", call):
        if word in ELSEWHERE.get(place, {}):
            return f"; {ELSEWHERE[place][word]}"
    return ""
