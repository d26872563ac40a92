"""Networks that people know, as configurations to train: functions with the options of a Conf."""

from sparkdl.nn.zoo.cifar10 import cifar10_quick
from sparkdl.nn.zoo.inception_v3 import inception_v3
from sparkdl.nn.zoo.lenet import lenet
from sparkdl.nn.zoo.resnet import resnet18, resnet50
from sparkdl.nn.zoo.vgg16 import vgg16

NAMES = (
    "cifar10_quick",
    "inception_v3",
    "lenet",
    "resnet18",
    "resnet50",
    "vgg16",
)
