"""sparkdl caffe time: time that each layer of a net takes."""

from sparkdl.commands.caffe.options import OF_NET, is_changed, shapes_of
from sparkdl.commands.layer_times import report
from sparkdl.errors import ConfigError
from sparkdl.interop.caffe import load_net, read_job
from sparkdl.interop.caffe.nets.phases import state_of
from sparkdl.interop.caffe.solvers.job import check_shapes
from sparkdl.nn.execution.timing import time_step
from sparkdl.training.rounds.replica import limit_threads


def time(arguments):
    """Prints the times of a training step on random data, or of a forward pass without a loss."""
    if not (arguments.model or arguments.conf):
        raise ConfigError("-model is missing; it names the net's prototxt, or -conf the solver's")
    if arguments.model and arguments.conf:
        raise ConfigError(
            f"-conf must be left out with -model, got {arguments.conf!r}: time is of one net"
        )
    net = net_of(arguments)
    limit_threads()
    training = any(score.kind == "loss" for score in net.scores)
    timed = time_step(net.conf, batch_size(net), repeats=arguments.iterations, training=training)
    print(report(net.conf, timed))


def net_of(arguments):
    """Returns the net in the requested phase, level and stages, or a solver's training net."""
    shapes = shapes_of(arguments.shapes)
    if not arguments.model:
        for name in OF_NET:
            if is_changed(arguments, name):
                raise ConfigError(
                    f"-{name} must be left out with -conf, got {getattr(arguments, name)!r}: time "
                    "is of the solver's training net; give the net as -model"
                )
        return read_job(arguments.conf, shapes).train
    stages = tuple(name for name in arguments.stage.split(",") if name)
    net = load_net(arguments.model, state_of(arguments.phase, arguments.level, stages), shapes)
    check_shapes(shapes, [net])
    return net


def batch_size(net):
    """Returns the minibatch size of a net, from its data layer or its inputs."""
    for data in net.data:
        if data.batch_size:
            return data.batch_size
        shapes = data.layer.input_param.shape
        if shapes:
            return shapes[0].dim[0]
    raise ConfigError(f"{net.name or 'the net'} must say how many examples a batch has")
