"""JIT compilation of LLVM IR by llvmlite."""

import ctypes
from threading import Lock

from sparkdl.engine.native import cache
from sparkdl.engine.native.control import NAME
from sparkdl.engine.native.object_file import undefined_symbols
from sparkdl.errors import UnsupportedError

NEEDED = ("avx2", "fma")  # without them, vector polynomials would call library functions
SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
MADE: "list[Compiler]" = []  # the process's compiler, once created
MAKING = Lock()


def compiler():
    """Returns the process's compiler, shared by all threads; its functions live as long as it.

    Raises like `make_compiler`.
    """
    with MAKING:
        if not MADE:
            MADE.append(make_compiler())
        return MADE[0]


def find_compiler():
    """Returns the process's compiler, or None where there is none."""
    try:
        return compiler()
    except UnsupportedError:
        return None


def make_compiler():
    """Returns a Compiler.

    Raises
    ------
    UnsupportedError
        If llvmlite or the required vector instructions are missing.
    """
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        raise UnsupportedError(
            f"chains run in numpy: llvmlite cannot be loaded ({error})"
        ) from None
    return Compiler(llvm)


class Compiler:
    """Compiles each text once per process, or once per machine if the cache is writable."""

    def __init__(self, llvm):
        features = llvm.get_host_cpu_features()
        missing = [name for name in NEEDED if not features.get(name)]
        if missing:
            raise UnsupportedError(f"chains run in numpy: the processor has no {missing}")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        cpu, self.llvm = llvm.get_host_cpu_name(), llvm
        target = llvm.Target.from_default_triple()
        self.machine = target.create_target_machine(cpu=cpu, features=features.flatten(), opt=2)
        empty = llvm.parse_assembly("")
        # its own memory manager keeps code and constants within 32-bit offsets
        self.engine = llvm.create_mcjit_compiler(empty, self.machine, use_lmm=True)
        version = ".".join(map(str, llvm.llvm_version_info))
        self.host = f"{version} {cpu} {features.flatten()}"
        self.functions, self.lock = {}, Lock()

    def function(self, text):
        """Returns the function NAME of a module; it takes one address."""
        with self.lock:
            if text not in self.functions:
                self.functions[text] = self.make(text)
            return self.functions[text]

    def make(self, text):
        key = cache.key_of(self.host, text)
        symbol = f"{NAME}_{key}"
        code = cache.read(key)
        if code is None:
            code = self.compile(text.replace(f"@{NAME}(", f"@{symbol}("))
            cache.write(key, code)
        self.require_symbols(code)
        self.engine.add_object_file(self.llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        return SIGNATURE(self.engine.get_function_address(symbol))

    def require_symbols(self, code):
        """Raises UnsupportedError for unresolved functions, on which LLVM would abort the process.

        LLVM emits such a call where the processor has no instruction for an operation.
        """
        address = self.llvm.address_of_symbol
        missing = [name for name in undefined_symbols(code) if address(name) is None]
        if missing:
            raise UnsupportedError(f"chains run in numpy: no library of the process has {missing}")

    def compile(self, text):
        module = self.llvm.parse_assembly(text)
        module.verify()
        return self.machine.emit_object(module)
