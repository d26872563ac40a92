"""ONNX files as functions of arrays, computed in this process and forward only."""

import numpy as np
from onnx import helper

from sparkdl.errors import ConfigError, DataError, ShapeError, UnsupportedError
from sparkdl.interop.onnx.compiled.programs import BodyPrograms
from sparkdl.interop.onnx.forward.body import Body
from sparkdl.interop.onnx.messages import opset_of, parse_model, read_model


class OnnxFunction:
    """An ONNX file as a function of named arrays, computed by sparkdl's engine; inference only.

    It takes files that `read_onnx` does not: with inputs of any number, type and first axis, and
    nearly all operations of the standard except those on strings. It cannot be trained.

    The first call with new shapes compiles a program, which takes a few tenths of a second. numpy
    computes the operations that the engine lacks; `describe` says which.

    Parameters
    ----------
    path : str
        Local or a URI.
    programs : int
        Number of programs to keep, the most recently used ones. 0: numpy computes everything.

    Attributes
    ----------
    inputs, outputs : list of str
    input_types, output_types : {name: TypeProto}

    Raises
    ------
    UnsupportedError
        Lists all nodes that cannot be computed here, each with its reason.
    DataError
        If the file cannot be read, or is damaged.

    Examples
    --------
    >>> OnnxFunction("encoder.onnx").run({"ids": ids, "mask": mask})["embedding"]  # doctest: +SKIP
    """

    def __init__(self, path, programs=8):
        self._take(read_model(path), path, programs)

    @classmethod
    def of_content(cls, content, path, programs=8):
        """Returns the function of a file's bytes; `path` is for error messages."""
        function = cls.__new__(cls)
        function._take(parse_model(content, path), path, programs)
        return function

    def _take(self, model, path, programs):
        if programs < 0:
            raise ConfigError(f"OnnxFunction.programs must be >= 0, got {programs}; 0 is numpy")
        self.path, refused = str(path), []
        body = Body(model.graph, self.path, opset_of(model, path), refused)
        if refused:
            lines = "\n  ".join(refused)
            raise UnsupportedError(f"{path} has nodes that cannot be computed:\n  {lines}")
        self.input_types = {
            v.name: v.type for v in model.graph.input if v.name not in body.constants
        }
        self.inputs, self.outputs = list(self.input_types), body.outputs
        self.output_types = {value.name: value.type for value in model.graph.output}
        self._programs = BodyPrograms(body, programs)

    def run(self, inputs):
        """Returns {output: array} for {input: array}; sequences are lists of arrays.

        Raises
        ------
        ConfigError, ShapeError
            The inputs are not those of the file.
        UnsupportedError
            A node of these types, such as one that draws random numbers.
        """
        if inputs.keys() != self.input_types.keys():
            raise ConfigError(f"{self.path}: inputs must be {self.inputs}, got {list(inputs)}")
        return self._programs.run({name: self._checked(name, inputs[name]) for name in self.inputs})

    def describe(self):
        """Returns tables of what computes each operation, for the latest input shapes."""
        return self._programs.describe()

    def _dtype(self, name, number):
        try:
            return np.dtype(helper.tensor_dtype_to_np_dtype(number))
        except KeyError as error:
            raise DataError(f"{self.path}: {name} has the unknown type {number}") from error

    def _checked(self, name, value):
        """Returns an input as an array, after checking the type and shape in the file."""
        kind = self.input_types[name]
        if not kind.HasField("tensor_type"):
            return value
        kind, value = kind.tensor_type, np.asarray(value)
        dtype = self._dtype(name, kind.elem_type)
        if value.dtype != dtype:
            raise ConfigError(f"{self.path}: {name} must be of {dtype}, got {value.dtype}")
        axes = [axis.dim_value for axis in kind.shape.dim]  # 0 or, by Paddle, -1: an open axis
        fits = len(axes) == value.ndim and all(
            n in (0, -1, given) for n, given in zip(axes, value.shape, strict=True)
        )
        if kind.HasField("shape") and not fits:
            axes = [axis.dim_param or axis.dim_value for axis in kind.shape.dim]
            raise ShapeError(f"{self.path}: {name} must have the shape {axes}, got {value.shape}")
        return value
