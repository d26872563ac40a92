// Sums, or with MAXIMUM maxima, over rows of adjacent results, such as channels. A thread reduces V
// results; a block takes `part` of the `length` rows, which lie `step` elements apart.
//
// T is the input type, A the accumulator's, in which each block leaves its partial result.
#include "joined.cuh"

extern "C" __global__ void reduce_together(i64 step, u32 results, u32 length, u32 part, u32 lanes,
                                           const T* x, A* y) {
  __shared__ A found[256][V];
  const u32 lane = threadIdx.x % lanes, row = threadIdx.x / lanes, rows = 256 / lanes;
  const u32 first = (blockIdx.x * lanes + lane) * V, begin = blockIdx.y * part;
  const u32 end = length - begin < part ? length : begin + part;
  A totals[V] = {};
  if (first < results) {
    const T* from = x + first;
#if MAXIMUM
    const Pack<T, V> start = *reinterpret_cast<const Pack<T, V>*>(from + begin * step);
#pragma unroll
    for (int v = 0; v < V; ++v) totals[v] = (A)wide(start.at[v]);
#endif
#pragma unroll 4
    for (u32 i = begin + row; i < end; i += rows) {
      const Pack<T, V> numbers = *reinterpret_cast<const Pack<T, V>*>(from + i * step);
#pragma unroll
      for (int v = 0; v < V; ++v) totals[v] = joined(totals[v], (A)wide(numbers.at[v]));
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) found[threadIdx.x][v] = totals[v];
  for (u32 apart = rows / 2; apart; apart /= 2) {
    __syncthreads();
    if (row < apart)
#pragma unroll
      for (int v = 0; v < V; ++v)
        found[threadIdx.x][v] = joined(found[threadIdx.x][v], found[threadIdx.x + apart * lanes][v]);
  }
  if (row == 0 && first < results)
#pragma unroll
    for (int v = 0; v < V; ++v) y[(i64)blockIdx.y * results + first + v] = found[threadIdx.x][v];
}
