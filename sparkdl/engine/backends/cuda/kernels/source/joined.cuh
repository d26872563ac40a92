// Combines two partial results of a reduction: their sum, or with MAXIMUM the larger one.
__device__ __forceinline__ A joined(A x, A y) {
#if MAXIMUM
  return larger(x, y);
#else
  return x + y;
#endif
}
