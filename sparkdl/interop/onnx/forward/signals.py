"""Fourier transforms and window functions."""

import numpy as np
from onnx import TensorProto, helper

from sparkdl.interop.onnx.forward.shapes import need_room


def dft(x, dft_length=None, axis=None, *, inverse=0, onesided=0, opset=20):
    """Returns the DFT of x (..., 1) or (..., 2), whose last axis holds real and imaginary parts.

    The axis is an input; before opset 20 it is an attribute, by default 1.
    """
    axis = (-2 if opset >= 20 else 1) if axis is None else int(np.reshape(axis, ()))
    signal = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
    axis = axis if axis >= 0 else axis + x.ndim
    n = None if dft_length is None else int(np.reshape(dft_length, ()))
    if inverse and onesided:
        return np.fft.irfft(signal, n, axis)[..., None].astype(x.dtype)
    if onesided:
        return parts(np.fft.rfft(signal, n, axis), x.dtype)
    return parts((np.fft.ifft if inverse else np.fft.fft)(signal, n, axis), x.dtype)


def parts(values, dtype):
    return np.stack([values.real, values.imag], -1).astype(dtype)


def stft(x, frame_step, window=None, frame_length=None, *, onesided=1):
    """Returns the spectra (N, frames, bins, 2) of signals (N, T, 1 or 2)."""
    given = (v for v in (frame_length, None if window is None else window.size) if v is not None)
    length = int(np.reshape(next(given, x.shape[1]), ()))
    frames = np.lib.stride_tricks.sliding_window_view(x, length, 1)
    frames = np.moveaxis(frames[:, :: int(np.reshape(frame_step, ()))], -1, 2)
    frames = frames if window is None else frames * window.reshape(-1, 1)
    return dft(frames.astype(x.dtype), onesided=onesided and x.shape[-1] == 1)


def window(*terms):
    """Returns the rule of a window function, a sum of cosines."""

    def compute(size, *, output_datatype=TensorProto.FLOAT, periodic=1):
        n = int(np.reshape(size, ()))
        need_room([n])
        angle = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
        y = sum(term * np.cos(place * angle) for place, term in enumerate(terms))
        return np.asarray(y, helper.tensor_dtype_to_np_dtype(output_datatype))

    return compute


def mel_weights(bins, dft_length, sample_rate, low, high, *, output_datatype=TensorProto.FLOAT):
    """Returns triangles (spectrogram bins, mel bins), from one neighbor's peak to the other's."""
    bins, length, rate, low, high = (
        np.reshape(each, ()).item() for each in (bins, dft_length, sample_rate, low, high)
    )
    ends = 2595 * np.log10(1 + np.array([low, high]) / 700)
    mels = ends[0] + np.arange(bins + 2) * (ends[1] - ends[0]) / (bins + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype(np.int64)
    y = np.zeros((length // 2 + 1, bins))
    for place, (left, peak, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        y[peak, place] = 1
        y[left:peak, place] = np.arange(peak - left) / (peak - left)
        y[peak:right, place] = np.arange(right - peak, 0, -1) / (right - peak)
    return y.astype(helper.tensor_dtype_to_np_dtype(output_datatype))


SIGNALS = {
    "BlackmanWindow": window(0.42, -0.5, 0.08),
    "DFT": dft,
    "HammingWindow": window(25 / 46, -21 / 46),
    "HannWindow": window(0.5, -0.5),
    "MelWeightMatrix": mel_weights,
    "STFT": stft,
}
