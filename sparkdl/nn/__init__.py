"""Networks, layers, optimizers, schedules and the other parts that a user configures."""

from sparkdl.lazy_names import homes, lazy_names

EXPORTS = {
    "sparkdl.nn.activations": "ActivationFunction",
    "sparkdl.nn.clipping": """
        ClipArrayNorm ClipLayerNorm ClipNorm Clipping ClipValue UnitArrayNorm UnitLayerNorm""",
    "sparkdl.nn.constraints": "Constraint MaxNorm MinMaxNorm NonNegative UnitNorm",
    "sparkdl.nn.execution.forward": "Forward forward",
    "sparkdl.nn.execution.initial_vectors": "initial_buffers initial_params initial_slots",
    "sparkdl.nn.initializers": "Initializer",
    "sparkdl.nn.layers": "*",
    "sparkdl.nn.layers.core.run": "Run",
    "sparkdl.nn.layers.outputs.base": "ScoredLayer",
    "sparkdl.nn.layout": "Layout",
    "sparkdl.nn.losses": "Loss",
    "sparkdl.nn.networks.base": "Conf",
    "sparkdl.nn.networks.document": "conf_from_dict conf_from_json",
    "sparkdl.nn.networks.graph": "GraphConf Vertex",
    "sparkdl.nn.networks.graph_builder": "GraphBuilder",
    "sparkdl.nn.networks.pretraining": "pretraining",
    "sparkdl.nn.networks.sequential": "NetworkConf",
    "sparkdl.nn.optimization.update": "update_params",
    "sparkdl.nn.optimizers": """
        AdaBelief AdaDelta AdaGrad Adam AdaMax AdamHat AdamW AMSGrad Ftrl Lamb Lars Momentum
        Nadam Nesterov Optimizer RmsProp Sgd""",
    "sparkdl.nn.schedules": """
        CosineRestartsSchedule CosineSchedule CycleSchedule ExponentialSchedule FixedSchedule
        InverseSchedule MultiStepSchedule OneCycleSchedule PiecewiseConstantSchedule
        PolynomialSchedule RampSchedule Schedule SequentialSchedule SigmoidSchedule StepSchedule
        WarmUpSchedule""",
    "sparkdl.nn.solvers": "ConjugateGradient Lbfgs LineDescent Solution Solver",
    "sparkdl.nn.tables.embedding_bag": "EmbeddingBag",
    "sparkdl.nn.weight_noise": "DropConnect GaussianWeightNoise WeightNoise",
}

HOMES = homes(EXPORTS)
__all__ = list(HOMES)
__getattr__, __dir__ = lazy_names(__name__, HOMES)
