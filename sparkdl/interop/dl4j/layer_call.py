"""One layer or vertex in translation: its options, inputs, and added vertices."""

from dataclasses import replace

from sparkdl.errors import UnsupportedError
from sparkdl.interop.dl4j.layers import RULES
from sparkdl.interop.dl4j.objects import object_of
from sparkdl.interop.dl4j.places import Taken
from sparkdl.interop.dl4j.preprocessors import preprocess
from sparkdl.interop.dl4j.training import CURE, penalties, text_of
from sparkdl.interop.translated_network import only_input
from sparkdl.nn import layers as nn

DROPOUTS = {
    "alphadropout": (nn.AlphaDropout, "p"),
    "dropout": (nn.Dropout, "p"),
    "gaussiandropout": (nn.GaussianDropout, "rate"),
    "gaussiannoise": (nn.GaussianNoise, "stddev"),
    "spatialdropout": (nn.SpatialDropout, "p"),
}
SOLVER = "stochastic_gradient_descent"
OLD = (  # written by 0.9 in addition to the updater
    "adammeandecay",
    "adamvardecay",
    "epsilon",
    "learningrate",
    "lossfunction",
    "momentum",
    "momentumschedule",
    "rho",
    "rmsdecay",
    "updater",
)


class LayerCall:
    """Context for a rule: `options`, `kind`, `inputs` and `name` of a node, and `add`."""

    def __init__(self, translation, node, kind, options, inputs):
        self.translation, self.node, self.kind = translation, node, kind
        self.options, self.inputs, self.name = options, inputs, node.name
        self.frozen = False

    def run(self, rule=None):
        """Translates the node; returns the Place of its output."""
        if self.node.vertex == "layer":
            self.check()
            place = preprocess(self.translation, self.node.before, self.one(), self.name)
            self.inputs = [self.dropped(place)]
        found = (rule or self.rule())(self)
        self.unused("gradientnormalization", "gradientnormalizationthreshold", "iupdater", *OLD)
        self.options.finish()
        return found

    def rule(self):
        if self.kind not in RULES:
            raise UnsupportedError("a layer of this class is not supported")
        return RULES[self.kind]

    def check(self):
        """Refuses training other than on minibatch means with one learning rate."""
        bias_rate = self.options.take("biaslearningrate")
        if not self.translation.training:
            return
        wanted = {"miniBatch": True, "minimize": True, "useDropConnect": False}
        wanted |= {"optimizationAlgo": SOLVER.upper(), "learningRatePolicy": "None"}
        for name, value in wanted.items():
            given = self.node.conf.get(name, value)
            self.options.need(given == value, name, given)
        self.options.need(bias_rate in (None, self.options.take("learningrate")), "bias", bias_rate)

    def dropped(self, place):
        """Returns the Place of the input after the layer's input dropout."""
        value = self.options.take("idropout") or self.options.take("dropout")
        if not value:
            return place
        if isinstance(value, int | float):  # before 1.0.0: the share that is kept
            return self.translation.helper(nn.Dropout(rate=1.0 - value), place, self.name)
        name, options = object_of(value, "a dropout")
        if name not in DROPOUTS:
            raise UnsupportedError(f"dropout {name!r} is not supported")
        kind, field = DROPOUTS[name]
        share = options.number(field)
        options.only(pschedule=None, rateschedule=None, stddevschedule=None)
        if field == "stddev":
            return self.translation.helper(kind(std=share), place, self.name)
        rate = 1.0 - share if field == "p" else share
        return self.translation.helper(kind(rate=rate), place, self.name)

    def one(self):
        """Returns the only input; raises UnsupportedError for several."""
        return only_input(self.inputs)

    def rows(self, place):
        """Returns rows or steps of an input, with images flattened."""
        if len(place.shape) < 3:
            return place
        return self.translation.helper(nn.Flatten(), place, self.name)

    def trained(self, penalized=True):
        """Returns the training options of a layer."""
        names = ("biasupdater", "constraints", "weightnoise", "regularization")
        self.unused(*names, "regularizationbias", "l1", "l2", "l1bias", "l2bias")
        if not self.translation.training:
            return {}
        if not self.translation.updaters:
            return penalties(self.options) if penalized else {}
        try:
            found = self.translation.rules.options_of(self.options)
        except UnsupportedError as error:
            raise UnsupportedError(f"{error}{CURE}") from error
        if penalized:
            return found
        return {name: value for name, value in found.items() if "optimizer" in name}

    def unused(self, *names):
        """Ignores options that have no effect here."""
        for name in names:
            self.options.take(name)

    def changed(self, layer, **options):
        return replace(layer, **options) if options else layer

    def inside(self, options):
        """Returns a LayerCall for an inner layer with the same input."""
        call = LayerCall(self.translation, self.node, self.kind, options, self.inputs)
        call.frozen = self.frozen
        return call

    def within(self, value):
        """Returns a LayerCall for the layer inside a wrapper."""
        kind, options = object_of(value, "a layer", "layer")
        call = LayerCall(
            self.translation, replace(self.node, before=None), kind, options, self.inputs
        )
        call.frozen = self.frozen
        return call

    def add(self, layer, *places, takes=(), helper=False):
        """Adds a vertex; returns its Place.

        Parameters
        ----------
        layer : Layer
        places : Place
            Its inputs.
        takes : sequence of Take
            Its arrays, in file order.
        helper : bool
            Whether another vertex gets the name of the node.
        """
        graph = self.translation
        wanted = f"{self.name}/{layer.type_name.lower()}" if helper else self.name
        name = graph.free(wanted)
        updater = self.options.take("iupdater")
        text = None if self.frozen else text_of(updater)
        biased = self.options.take("biasupdater")
        if takes and self.frozen:
            layer = nn.Frozen(layer=layer)
        for take in takes:
            own = text_of(biased) if take.bias and biased and text else text
            graph.taken.append(Taken(vertex=name, take=take, updater=own if take.trained else None))
        return graph.vertex(layer, places, name)
