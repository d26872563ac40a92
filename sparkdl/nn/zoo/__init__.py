"""Well-known networks as configurations: functions that also take the options of a Conf."""

from sparkdl.nn.zoo.alexnet import alexnet, caffenet
from sparkdl.nn.zoo.bert import bert
from sparkdl.nn.zoo.char_lstm import char_lstm
from sparkdl.nn.zoo.cifar10 import cifar10_full, cifar10_quick
from sparkdl.nn.zoo.dlrm import dlrm
from sparkdl.nn.zoo.factorization_machine import deep_fm, factorization_machine
from sparkdl.nn.zoo.googlenet import googlenet
from sparkdl.nn.zoo.gpt2 import gpt2
from sparkdl.nn.zoo.inception_v3 import inception_v3
from sparkdl.nn.zoo.lenet import lenet
from sparkdl.nn.zoo.resnet import resnet18, resnet50
from sparkdl.nn.zoo.transformer import transformer
from sparkdl.nn.zoo.vgg16 import vgg16
from sparkdl.nn.zoo.wide_deep import wide_deep

__all__ = [
    "alexnet",
    "bert",
    "caffenet",
    "char_lstm",
    "cifar10_full",
    "cifar10_quick",
    "deep_fm",
    "dlrm",
    "factorization_machine",
    "googlenet",
    "gpt2",
    "inception_v3",
    "lenet",
    "resnet18",
    "resnet50",
    "transformer",
    "vgg16",
    "wide_deep",
]
