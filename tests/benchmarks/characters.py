"""A 2x256 LSTM on real text: validation loss in nats per character, seconds, a text sample."""

import argparse
import time
from pathlib import Path

from sparkdl.data import Characters, TextSequences
from sparkdl.nn import Adam, ClipNorm, CosineSchedule, zoo
from sparkdl.training.generation import generate
from sparkdl.training.masters.parameter_averaging.master import ParameterAveraging
from sparkdl.training.network import Network
from sparkdl.training.workers.local import LocalWorkers
from tests.benchmarks.session import spark_session

GOAL, BATCH, STEPS = 1.6, 25, 500


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bench characters", description=__doc__)
    parser.add_argument("text", type=Path, help="a text in UTF-8; its last tenth is kept to test")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--spark", action="store_true", help="on two executors, by SparkNetwork")
    options = parser.parse_args(argv)
    characters = Characters.of_file(options.text)
    train, test = (
        TextSequences(str(options.text), characters, steps=STEPS, part=part)
        for part in ((0, 0.9), (0.9, 1))
    )
    net = Network(network(characters, options.epochs, options.text.stat().st_size))
    master = ParameterAveraging(batch_size_per_worker=BATCH, averaging_frequency=1, workers=2)
    began = time.perf_counter()
    history = (on_spark if options.spark else here)(net, master, train, test, options.epochs)
    seconds = time.perf_counter() - began
    loss = net.evaluate(test).loss
    print(history, "", sep="\n")
    reached = "reached" if loss <= GOAL else "missed"
    print(f"{seconds:.0f} s; validation loss {loss:.4f} nats per character: {GOAL} {reached}\n")
    print(generate(net, characters, "\n", 400, temperature=0.8))


def network(characters, epochs, size):
    """Returns two LSTM layers, truncated after 50 steps; the rate decays to a twentieth."""
    updates = epochs * (int(0.9 * size) // STEPS // (2 * BATCH) + 1) * (STEPS // 50)
    rate = CosineSchedule(initial=0.004, steps=updates, final=0.0002)
    options = {"optimizer": Adam(learning_rate=rate), "clipping": ClipNorm(limit=5), "seed": 1}
    return zoo.char_lstm(len(characters), steps=STEPS, tbptt=(50, 50), **options)


def here(net, master, train, test, epochs):
    with LocalWorkers(2) as workers:
        return net.fit(train, epochs, master, workers, validation=test)


def on_spark(net, master, train, test, epochs):
    from sparkdl import SparkNetwork

    with spark_session("local-cluster[2,1,2048]") as sc:
        return SparkNetwork(sc, net, master).fit(train, epochs, validation=test)


if __name__ == "__main__":
    main()
