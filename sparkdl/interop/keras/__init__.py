"""Keras models, read into networks."""

from sparkdl.interop.keras.reader import KerasNet, read_keras
