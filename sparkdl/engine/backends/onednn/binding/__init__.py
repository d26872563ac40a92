"""The binding of oneDNN's shared library by ctypes: finding, calling and checking."""
