"""oneDNN's shared library by ctypes: how it is found, called and guarded."""
