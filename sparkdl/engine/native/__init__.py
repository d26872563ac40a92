"""Kernels compiled as programs need them: what oneDNN does not compute, without numpy's passes.

chains      an elementwise chain and its arrays, as a call
loops       the loop over memory around a chain
operations  what each operation does to vectors
formulas    exp, log, tanh ... of vectors
draws       uniform random numbers
code        lines of LLVM's language
control     a thread's share of the work, loops
jit, cache  from lines to machine code, kept on disk for the next process
calls       a function bound to its words
threads     the pool of threads that oneDNN uses
"""
