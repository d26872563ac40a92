// Reductions over the threads of a block.

// Reduces x over the block by `join`; every thread gets the result. At most 1024 threads, a
// multiple of 32.
template <class T, class F> __device__ __forceinline__ T of_block(T x, F join) {
  __shared__ T found[32];
#pragma unroll
  for (int apart = 16; apart; apart /= 2) x = join(x, __shfl_xor_sync(~0u, x, apart));
  __syncthreads();  // until all threads have read the result of the previous call
  if (threadIdx.x % 32 == 0) found[threadIdx.x / 32] = x;
  __syncthreads();
  x = found[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp) x = join(x, found[warp]);
  return x;
}

template <class T> __device__ __forceinline__ T sum_of_block(T x) {
  return of_block(x, [](T a, T b) { return a + b; });
}
template <class T> __device__ __forceinline__ T largest_of_block(T x) {
  return of_block(x, [](T a, T b) { return larger(a, b); });
}
