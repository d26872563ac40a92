"""Live Keras models as networks for any training master."""

from sparkdl.interop.keras.live.keras_model import KerasModel
from sparkdl.interop.keras.live.keras_predictor import KerasPredictor
from sparkdl.interop.keras.live.trained_model import trained_model
