"""Trains LeNet or an MLP with Elephas on two Spark executors; prints one line of JSON.

Runs in the elephas environment, which lacks sparkdl.
"""

import json
import os
import sys
import time

FOLDER, MODEL, MODE, RECORDS, EPOCHS = *sys.argv[1:5], int(sys.argv[5])
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import keras
import numpy as np
from elephas.spark_model import AsynchronousSparkModel, SparkModel
from keras import layers
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

SHAPE = (28, 28, 1) if MODEL == "lenet" else (784,)


def network():
    if MODEL == "lenet":
        stack = [layers.Conv2D(20, 5), layers.MaxPooling2D(2), layers.Conv2D(50, 5)]
        stack += [layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(500, activation="relu")]
    else:
        stack = [layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu")]
    stack = [keras.Input(SHAPE), *stack, layers.Dense(10, activation="softmax")]
    model = keras.Sequential(stack)
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True)
    model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"])
    return model


def spark_model(model):
    if MODE == "synchronous":
        return SparkModel(model, num_workers=2, batch_size=64)
    options = {"num_workers": 2, "batch_size": 64, "parameter_server_mode": "http", "port": 4000}
    return AsynchronousSparkModel(model, mode=MODE, frequency="epoch", **options)


def records(sc, data):
    """Returns an RDD of the file's pairs or of a DataFrame's rows."""
    if RECORDS == "frame":
        frame = SparkSession(sc).read.parquet(os.path.join(FOLDER, "rows.parquet"))
        return frame.rdd.map(pair)
    x = (data["x"] / 255).astype("float32").reshape(-1, *SHAPE)
    return sc.parallelize(list(zip(x, np.eye(10, dtype="float32")[data["y"]])), 2)


def pair(row):
    features = np.array(row.features, "float32").reshape(SHAPE)
    return features, np.eye(10, dtype="float32")[row.label]


def main():
    data = np.load(os.path.join(FOLDER, "pairs.npz"))
    xs = (data["xs"] / 255).astype("float32").reshape(-1, *SHAPE)
    conf = SparkConf().setMaster("local-cluster[2,1,1024]").set("spark.ui.enabled", "false")
    for part in ("driver", "executor"):  # as in the other side's sessions
        conf.set(f"spark.{part}.defaultJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    sc = SparkContext(conf=conf.set("spark.ui.showConsoleProgress", "false"))
    sc.setLogLevel("OFF")
    peer = spark_model(network())
    began = time.time()
    peer.fit(records(sc, data), epochs=EPOCHS, batch_size=64, verbose=0, validation_split=0.0)
    seconds = time.time() - began
    found = peer.master_network.predict(xs, verbose=0).argmax(axis=1)
    accuracy = float((found == data["ys"]).mean())
    print(json.dumps({"seconds": seconds, "accuracy": accuracy}), flush=True)
    sc.stop()


main()
