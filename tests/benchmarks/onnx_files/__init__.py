"""ONNX files from packages: OnnxFunction against onnxruntime, alternating.

The three networks of rapidocr-onnxruntime and the one of magika. Each side has its own process, as
in `bench forward`, and computes the same arrays on the same number of threads; ours reports its
deviation from onnxruntime. A figure is the fastest call of a turn; ratios are of the fastest over
all turns: above 1 sparkdl is faster.
"""


def main(arguments):
    from tests.benchmarks.onnx_files import table

    table.main(arguments)
