// Two of what a reduction adds up in type A, or with MAXIMUM compares.
__device__ __forceinline__ A joined(A x, A y) {
#if MAXIMUM
  return larger(x, y);
#else
  return x + y;
#endif
}
