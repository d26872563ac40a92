"""Layers around another layer."""

from sparkdl.interop.dl4j.layers.recurrent import CELLS, RECURRENT


def inner(at, *names):
    """Returns the LayerCall of the inner layer."""
    for name in ("gradientnormalization", "gradientnormalizationthreshold", "constraints"):
        at.options.take(name)
    value = next((given for name in names if (given := at.options.take(name))), None)
    return at.within(value)


def frozen(at):
    """Adds the inner layer, frozen."""
    call = inner(at, "layer", "underlying")
    call.frozen = True
    return call.run()


def last_step(at):
    call = inner(at, "underlying")
    if call.kind in CELLS:
        return call.run(lambda given: RECURRENT[call.kind](given, return_sequences=False))
    return at.translation.last_step(call.run(), at.name)


def each_step(at):
    at.unused("rnndataformat")
    call = inner(at, "underlying")
    at.options.need(call.kind == "dense", "underlying", call.kind)
    return call.run()


WRAPPERS = {
    "frozen": frozen,
    "frozenlayerwithbackprop": frozen,
    "lasttimestep": last_step,
    "timedistributed": each_step,
}
