"""The ONNX files, and their inputs."""

from pathlib import Path

import numpy as np

from tests.benchmarks.peers.environment import python_of

OCR = "rapidocr_onnxruntime/models"
NETS = {  # name: (path in site-packages, shape of the input, whether it is bytes)
    "ocr_detection": (f"{OCR}/ch_PP-OCRv4_det_infer.onnx", (1, 3, 320, 320), False),
    "ocr_recognition": (f"{OCR}/ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320), False),
    "ocr_direction": (f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192), False),
    "magika": ("magika/models/standard_v3_3/model.onnx", (1, 2048), True),
}


def path_of(name):
    python = Path(python_of("onnx_files"))
    [folder] = python.parents[1].glob("lib/python*/site-packages")
    return str(folder / NETS[name][0])


def array_of(name):
    rng, (_, shape, of_bytes) = np.random.default_rng(0), NETS[name]
    if of_bytes:
        return rng.integers(0, 257, shape).astype(np.int32)
    return rng.standard_normal(shape).astype(np.float32)
