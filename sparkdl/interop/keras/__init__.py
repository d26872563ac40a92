"""Keras models, read into networks, and networks written as such."""

from sparkdl.interop.keras.reader import KerasNet, read_keras
from sparkdl.interop.keras.writing.writer import write_keras
