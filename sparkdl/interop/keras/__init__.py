"""Keras models, read into networks or trained as they are, and networks written as Keras models."""

from sparkdl.interop.keras.live import KerasModel, KerasPredictor, trained_model
from sparkdl.interop.keras.reader import KerasNet, read_keras
from sparkdl.interop.keras.writing.writer import write_keras
