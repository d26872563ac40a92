"""Matrix products by cuBLASLt, with epilogues in the same pass.

cuBLASLt is column-major. A row-major matrix is its transpose to it, so we request y^T = w^T x^T:
the rows of its result are our columns, along which a bias is added.
"""

from ctypes import byref, c_float, c_void_p
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sparkdl.engine.backends.cuda.libraries import cublaslt_api as api
from sparkdl.engine.backends.cuda.libraries import cublaslt_tuning as choice
from sparkdl.engine.backends.cuda.libraries.cublaslt_api import Epilogue, MatrixDescriptor, check
from sparkdl.engine.backends.cuda.libraries.matrices import MatrixLayout, rows_of_stacks
from sparkdl.engine.graph import Spec
from sparkdl.engine.operands import check_all
from sparkdl.errors import DeviceError, UnsupportedError

NO_EPILOGUE = Epilogue(0)


def load_adapter(driver):
    """Returns the adapter for a device.

    Raises UnsupportedError if the library is missing or does not start, MemoryError if it has no
    memory to start.
    """
    try:
        return CublasLt(driver, api.library())
    except DeviceError as error:
        raise UnsupportedError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class Product:
    """y = activation(scale x w + bias + plus) of matrices, or stacks of stacks of them.

    Parameters
    ----------
    x, w, y : DeviceArrays (..., m, k), (..., k, n), (..., m, n) with the same number of axes
    scale : float
    bias : (n,)
    plus : as y
    activation : Epilogue.RELU, GELU (by tanh), GELU_GRADIENT (times gelu's slope at `kept`) or 0
    kept : as y; gelu's input, written by GELU and read by GELU_GRADIENT
    sums : (n,), receives the sums over the rows of y with GELU_GRADIENT, else of w
    """

    x: Any
    w: Any
    y: Any
    scale: float = 1.0
    bias: Any = None
    plus: Any = None
    activation: Epilogue = NO_EPILOGUE
    kept: Any = None
    sums: Any = None

    @property
    def epilogue(self):
        code = self.activation
        code |= Epilogue.BIAS if self.bias is not None else 0
        code |= Epilogue.AUX if self.kept is not None else 0
        if self.sums is not None:
            code |= Epilogue.BIAS_GRADIENT if self.activation else Epilogue.SUM_OF_A
        return Epilogue(code or Epilogue.DEFAULT)

    @property
    def vector(self):
        """The vector along the columns."""
        return self.bias if self.sums is None else self.sums

    @property
    def written(self):
        """{field: array} of the arrays to fill."""
        kept = None if self.activation == Epilogue.GELU_GRADIENT else self.kept
        fields = {"y": self.y, "kept": kept, "sums": self.sums}
        return {name: array for name, array in fields.items() if array is not None}

    @property
    def specs(self):
        """{field: Spec} that the arrays must have for cuBLASLt."""
        (*stacks, m, k), n = self.x.shape, self.w.shape[-1]
        x, y = self.x.dtype.name, self.y.dtype.name
        specs = {"x": Spec((*stacks, m, k), x), "w": Spec((*stacks, k, n), x)}
        specs |= dict.fromkeys(("y", "kept", "plus"), Spec((*stacks, m, n), y))
        for name in ("bias", "sums"):
            array = getattr(self, name)
            specs[name] = Spec((n,), y if array is None else array.dtype.name)
        return {name: spec for name, spec in specs.items() if getattr(self, name) is not None}

    def by_rows(self):
        """Returns it with y row-major: as y^T = w^T x^T if y is column-major."""
        if not MatrixLayout.of(self.y).by_columns:
            return self
        if self.epilogue != Epilogue.DEFAULT:
            raise UnsupportedError("nothing follows a product that lies column by column")
        plus = None if self.plus is None else self.plus.transpose(0, 2, 1)
        x, w, y = (a.transpose(0, 2, 1) for a in (self.w, self.x, self.y))
        return replace(self, x=x, w=w, y=y, plus=plus)


class CublasLt:
    """An adapter of Libraries.

    Parameters
    ----------
    driver : Driver, whose device is current for the calling thread
    library : see cublaslt_api
    """

    def __init__(self, driver, library):
        self.driver, self.library, self.best = driver, library, {}
        self.handle = c_void_p()
        check(library, library.cublasLtCreate(byref(self.handle)))

    @property
    def name(self):
        version = self.library.cublasLtGetVersion()
        return f"cuBLASLt {version // 10_000}.{version // 100 % 100}.{version % 100}"

    def calls(self, session, product):
        """Returns calls that compute a Product.

        Raises
        ------
        UnsupportedError
            If the library does not support it; says why.
        OperandError
            If it would read or write out of bounds.
        MemoryError
            If the library has no memory for it.
        """
        check_all("cuBLASLt", product.specs, {n: getattr(product, n) for n in product.specs})
        tf32 = session.tf32 and product.x.dtype.name == "float32"
        stacks = [product.x, product.w, product.y, product.kept, product.plus]
        parts = rows_of_stacks(stacks)
        names = ("x", "w", "y", "kept", "plus")
        calls = [
            Matmul(self, replace(product, **dict(zip(names, part, strict=True))).by_rows(), tf32)
            for part in parts
        ]
        return [session.enqueue(partial(m.run, *m.prepare(session))) for m in calls]


class Matmul:
    """A Product of one stack of matrices, with its cuBLASLt descriptors."""

    def __init__(self, adapter, product, tf32):
        self.adapter, self.library = adapter, adapter.library
        self.product, self.tf32 = product, tf32
        p, plus = product, product.y if product.plus is None else product.plus
        if {a.dtype.name for a in (p.x, p.w, p.y, plus)} - api.TYPES.keys() or 0 in p.x.shape:
            raise UnsupportedError(f"no product of {p.x.dtype} in {p.y.dtype} of {p.x.shape}")
        self.arrays = p.w, p.x, plus, p.y
        self.matrices = [MatrixLayout.of(a) for a in self.arrays]
        if any(matrix.by_columns for matrix in self.matrices[2:]):
            raise UnsupportedError("what is added lies column by column")
        self.layouts = [
            self.layout(a, matrix) for a, matrix in zip(self.arrays, self.matrices, strict=True)
        ]
        self.descriptor = self.describe()
        self.alpha, self.beta = c_float(p.scale), c_float(p.plus is not None)

    @property
    def words(self):
        """The first arguments of the library's queries."""
        return self.adapter.handle, self.descriptor.pointer, *(m.pointer for m in self.layouts)

    def layout(self, array, matrix):
        kind, shape = api.TYPES[array.dtype.name], (matrix.length, matrix.count, matrix.leading)
        descriptor = MatrixDescriptor(self.library, "MatrixLayout", api.LAYOUT, kind, *shape)
        return descriptor.set(BATCH_COUNT=array.shape[0], STRIDED_BATCH_OFFSET=matrix.apart)

    def describe(self):
        p, compute = self.product, api.COMPUTE_32F_FAST_TF32 if self.tf32 else api.COMPUTE_32F
        words = api.DESCRIPTOR, compute, api.TYPES["float32"]
        descriptor = MatrixDescriptor(self.library, "MatmulDesc", *words)
        descriptor.set(TRANSA=self.matrices[0].by_columns, TRANSB=self.matrices[1].by_columns)
        descriptor.set(EPILOGUE=p.epilogue)
        if p.vector is not None:
            if p.vector.strides != (p.vector.itemsize,):
                raise UnsupportedError("the numbers of a bias lie apart")
            descriptor.set(BIAS_POINTER=p.vector.address)
            descriptor.set(BIAS_DATA_TYPE=api.TYPES[p.vector.dtype.name])
        if p.kept is not None:
            matrix = MatrixLayout.of(p.kept)
            if p.kept.dtype != p.y.dtype or matrix.by_columns or matrix.leading % 8 or len(p.y) > 1:
                raise UnsupportedError("what gelu is of lies in rows of a multiple of 8 numbers")
            descriptor.set(EPILOGUE_AUX_POINTER=p.kept.address, EPILOGUE_AUX_LD=matrix.leading)
        return descriptor

    @property
    def key(self):
        """Everything the choice of an algorithm depends on, except the device."""
        p = self.product
        arrays = *self.arrays, *(a for a in (p.vector, p.kept) if a is not None)
        shapes = tuple((a.shape, a.dtype.name, choice.alignment(a)) for a in arrays)
        return shapes, tuple(self.matrices), p.epilogue, p.plus is None, self.tf32

    def prepare(self, session):
        """Returns (algorithm, Scratch or None); the algorithm is chosen once per key."""
        best = self.adapter.best
        if self.key not in best:
            best[self.key] = choice.choose_algorithm(self, session.device)
        algorithm, size = best[self.key]
        return algorithm, session.scratch(size) if size else None

    def elsewhere(self):
        """Returns the same product with new output memory, so that trials overwrite nothing."""
        p, allocate = self.product, self.adapter.driver.allocate
        fresh = {name: array.elsewhere(allocate) for name, array in p.written.items()}
        return Matmul(self.adapter, replace(p, **fresh), self.tf32)

    def run(self, algorithm, scratch, stream):
        self.put(algorithm, scratch.memory if scratch else None, stream)

    def put(self, algorithm, memory, stream):
        (a, b, c, d), (at_a, at_b, at_c, at_d) = self.arrays, self.layouts
        room = (memory.address, memory.nbytes) if memory else (None, 0)
        status = self.library.cublasLtMatmul(
            self.adapter.handle, self.descriptor.pointer,
            self.alpha, a.address, at_a.pointer, b.address, at_b.pointer,
            self.beta, c.address, at_c.pointer, d.address, at_d.pointer,
            byref(algorithm), *room, stream,
        )  # fmt: skip
        check(self.library, status)
