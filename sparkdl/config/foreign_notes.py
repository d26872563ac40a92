"""Differences between a word of another system and ours, which follow "did you mean"."""

ACTIVATIONS = (
    "elu exp gelu hard_sigmoid hard_tanh leaky_relu log log_softmax mish power relu relu6 selu"
    " sigmoid softmax softplus softsign swish tanh thresholded_relu"
)
MEAN_OF_LABELS = "the mean over several labels, as theirs, is SigmoidCrossEntropy(averaged=True)"
FOCAL = "its option focal_gamma=2.0 makes it the focal loss"
OUTPUTS = "softmax cross-entropy is the default loss of an Output; others are its option loss"
OF_ALL = "per worker, where theirs counts all workers' examples"
CODECS = "fp16 is codec='Half', 1 bit is codec='OneBit', 2 bit is codec='TwoBit'"
THRESHOLD = "codec=Threshold(rule=AdaptiveThreshold(), clip=5.0)"
KERAS_L2 = "Keras's L2(c) is l2=2c, as l2 w^2 / 2 is added to the loss"
NOTES = {
    None: {
        "blocksize": OF_ALL,
        "compression": CODECS,
        "compressionparams": CODECS,
        "frequency": "minibatches between two averages",
        "gradientbits": CODECS,
        "gradientcompression": CODECS,
        "kernelregularizer": KERAS_L2,
        "numquantizationbits": CODECS,
        "replicastoaggregate": "it is workers - backup, of all workers",
        "residualpostprocessor": THRESHOLD,
        "syncperiod": OF_ALL,
        "thresholdalgorithm": THRESHOLD,
        "usefp16allreduce": "codec='Half'",
        "usegpu": "device='cuda' makes a missing GPU an error",
    },
    "Codec": {
        "bf16": "Half(dtype='bfloat16')",
        "bfloat16": "Half(dtype='bfloat16')",
    },
    "Layer": {
        "bias": "Affine(scale=False)",
        "bnll": "Activation(function='softplus')",
        "clip": "Activation(function=Clip(low=-1.0, high=1.0))",
        "identity": "Activation(function='identity')",
        "tile": "the input, several times",
        "silu": "Activation(function='swish')",
        "absval": "Activation(function='abs_val')",
        "threshold": "Activation(function='heaviside')",
        **{name.replace("_", ""): f"Activation(function={name!r})" for name in ACTIVATIONS.split()},
        "crossentropyloss": OUTPUTS,
        "softmaxwithloss": OUTPUTS,
        "yolo2outputlayer": "its loss is Yolo2(boxes=...)",
    },
    "Loss": {
        "bce": MEAN_OF_LABELS,
        "bceloss": MEAN_OF_LABELS,
        "bcewithlogitsloss": MEAN_OF_LABELS,
        "binarycrossentropy": MEAN_OF_LABELS,
        "binaryfocalcrossentropy": f"{FOCAL}, averaged=True the mean over several labels",
        "categoricalfocalcrossentropy": FOCAL,
        "focal": FOCAL,
        "focalloss": FOCAL,
        "labelsmoothingcrossentropy": "its option label_smoothing=0.1",
        "sigmoidfocalloss": f"{FOCAL}, with focal_alpha=0.25",
    },
    "TrainingMaster": {
        "dataparallelasgd": "ParameterServer(mode='async')",
        "distasync": "ParameterServer(mode='async')",
        "distsync": "ParameterServer(mode='sync')",
        "fsdp": "AllReduceSGD(shard='parameters')",
        "hogwild": "ParameterServer(mode='hogwild')",
    },
}
