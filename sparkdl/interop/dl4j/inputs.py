"""Shapes of inputs, derived from the nodes that read them."""

from sparkdl.errors import SparkdlError
from sparkdl.interop.dl4j.objects import object_of

ROWS = ("dense", "output", "loss", "elementwisemultiplication")


def input_shape(name, nodes):
    """Returns the shape of one example of an input, or None if the file does not determine it."""
    for node in nodes:
        if name in node.sources:
            try:
                shape = shape_for(node)
            except (SparkdlError, TypeError, ValueError):
                continue  # the node is refused later, with its name
            if shape is not None:
                return shape
    return None


def shape_for(node):
    """Returns the input shape of a node, or None if unknown."""
    if node.before is not None:
        return shape_before(node.before)
    if node.vertex != "layer":
        return None
    kind, options = object_of(node.value, "a layer", "layer")
    while kind in ("frozen", "frozenlayerwithbackprop"):
        inner = options.take("layer") or options.take("underlying")
        kind, options = object_of(inner, "a layer", "layer")
    if kind in ROWS:
        return (options.size("nin"),)
    if kind == "embedding":
        return (1,)
    if kind == "embeddingsequence" and options.take("inputlength"):
        return (options.size("inputlength"),)
    return None


def shape_before(value):
    """Returns the input shape of a preprocessor, or None if unknown."""
    kind, options = object_of(value, "a preprocessor", "preprocessor")
    if kind not in ("feedforwardtocnn", "cnntofeedforward"):
        return None
    sizes = [options.size(name) for name in ("numchannels", "inputheight", "inputwidth")]
    if kind == "cnntofeedforward":
        return tuple(sizes)
    return (sizes[0] * sizes[1] * sizes[2],)
