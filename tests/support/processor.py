"""Features of this machine's CPU, on which oneDNN's choice of kernels depends."""

import llvmlite.binding as llvm
import pytest

AVX512 = bool(llvm.get_host_cpu_features().get("avx512f"))
needs_avx512 = pytest.mark.skipif(not AVX512, reason="the processor has no AVX-512")
