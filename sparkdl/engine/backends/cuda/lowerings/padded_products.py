"""Large products of matrices whose rows begin at odd places: of copies whose rows are padded.

Tensor cores read 16 bytes at once. On an H200 a product of 16,384 x 768 by 768 x 50,257 numbers
reaches 118 Tflops as it lies; copies are worth while where there is much work for each byte.
"""

from dataclasses import replace

from sparkdl.engine.backends.cuda.lowerings import chains
from sparkdl.engine.dtypes import is_narrow

ROW = 16  # bytes that rows begin at a multiple of
WORK = 200  # operations for each byte that is copied, from which on copies are worth while


def pad_rows(session, product):
    """Returns (Product, calls before, calls behind); of copies where rows begin at odd places."""
    arrays = {n: getattr(product, n) for n in ("x", "w", "y", "plus")}
    odd = {n: a for n, a in arrays.items() if a is not None and a.ndim == 2 and is_odd(a)}
    copied = sum(a.nbytes for a in odd.values())
    (m, k), n = product.x.shape[-2:], product.w.shape[-1]
    quick = is_narrow(product.x.dtype) or session.tf32
    if not odd or not quick or product.kept is not None or 2 * m * k * n < WORK * copied:
        return product, [], []
    copies = {name: padded(session.device, name, array) for name, array in odd.items()}
    read = [(copies[n], a) for n, a in odd.items() if n != "y"]
    before = [call for pair in read for call in copy(session, *pair)]
    behind = copy(session, odd["y"], copies["y"]) if "y" in odd else []
    return replace(product, **copies), before, behind


def is_odd(matrix):
    """Returns whether rows, or columns where they lie together, begin at odd places."""
    return max(matrix.strides) % ROW != 0 and min(matrix.strides) == matrix.itemsize


def padded(device, name, matrix):
    """Returns memory for a copy, which the next such product may use again."""
    if matrix.strides[0] < matrix.strides[1]:
        return padded(device, name, matrix.transpose(1, 0)).transpose(1, 0)
    rows, columns = matrix.shape
    width = -(-columns * matrix.itemsize // ROW) * ROW
    memory = device.workspace(rows * width, name)[: rows * width]
    return memory.view(matrix.dtype).reshape(rows, -1)[:, :columns]


def copy(session, target, source):
    return chains.copy_array(session, None, [source], [target])[0]
