"""Networks from models of Deeplearning4j."""

from sparkdl.interop.dl4j.reader import Dl4jNet, read_dl4j

__all__ = ["Dl4jNet", "read_dl4j"]
