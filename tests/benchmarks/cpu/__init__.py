"""Training steps on the CPU: sparkdl against torch, TensorFlow and Keras, in turns.

Each peer lives in an environment of its own, made on the first run, and in processes of its own,
one for each mode. All hold the same workload (same shapes, parameters, optimizer) with the same
number of threads; one burst of steps of each follows the other, round after round. Ratios are
medians over the rounds of peer by ours, so above 1 sparkdl is faster. "Best" is the best mode of
any peer in this run, "as run" is torch as most people run it: eager, channels first. "Peak" is the
share of what the best matrix product reached in the same rounds, "others" the cores that other
programs took meanwhile: near 0 where the figures are to be trusted.
"""


def main(arguments):
    from tests.benchmarks.cpu import table  # peers' processes import this package without sparkdl

    table.main(arguments)
