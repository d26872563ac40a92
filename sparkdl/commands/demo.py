"""sparkdl demo: trains LeNet on real digits on Spark executors in about a minute."""

from sparkdl.commands import demo_run
from sparkdl.commands.train import fit
from sparkdl.spark.session import session


def demo(arguments):
    """Trains, evaluates and saves; needs nothing but Java."""
    options = {"master": arguments.master, "workers": arguments.workers}
    conf = demo_run.run(arguments.output, epochs=arguments.epochs, **options)
    conf.check()
    count = f"{conf.network.parameter_count:,} parameters"
    print(f"LeNet, {count}, learns 8,000 digits on {conf.spark.master}", flush=True)
    with session(conf.spark.master, conf.spark.config, conf.spark.name) as spark:
        net = fit(spark, conf)
    data = "--data '{type: Digits, part: test}'"
    print(f"use it: python -m sparkdl evaluate --model {conf.output} {data}", flush=True)
    return net
