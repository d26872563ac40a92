"""ONNX files of packages: OnnxFunction against onnxruntime, in turns.

The three nets of rapidocr-onnxruntime and the one of magika. Each side has a process of its own, as
in `bench forward`, computes the same arrays with the same number of threads, and says how far its
numbers are from those of onnxruntime. A figure is the fastest call of a turn; ratios are of the
fastest over all turns, so above 1 sparkdl is faster.
"""


def main(arguments):
    from tests.benchmarks.onnx_files import table

    table.main(arguments)
