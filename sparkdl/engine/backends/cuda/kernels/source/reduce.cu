// Sums, or with MAXIMUM maxima, along some axes of an array.
//
// A block of 256 threads computes `lanes` adjacent results, with 256 / lanes threads for each. The
// blocks along grid.y each reduce `part` elements of a result and write one row of partial results.
//
// T is the input type, A the accumulator's, R the output type.
#include "joined.cuh"
#include "walk.cuh"

extern "C" __global__ void reduce(LAYOUT kept, LAYOUT along, LAYOUT out, u32 results, u32 length,
                                  u32 part, u32 lanes, const char* x, char* y) {
  __shared__ A found[256];
  const u32 lane = threadIdx.x % lanes, row = threadIdx.x / lanes, rows = 256 / lanes;
  const u32 result = blockIdx.x * lanes + lane, begin = blockIdx.y * part;
  const u32 end = length - begin < part ? length : begin + part;
  A total = 0;
  if (result < results) {
    const char* from = x + offset(kept, result);
#if MAXIMUM
    total = (A)wide(*(const T*)(from + offset(along, begin)));
#endif
    for (u32 i = begin + row; i < end; i += rows)
      total = joined(total, (A)wide(*(const T*)(from + offset(along, i))));
  }
  found[threadIdx.x] = total;
  for (u32 apart = rows / 2; apart; apart /= 2) {
    __syncthreads();
    if (row < apart) found[threadIdx.x] = joined(found[threadIdx.x], found[threadIdx.x + apart * lanes]);
  }
  if (row == 0 && result < results)
    *(R*)(y + (i64)blockIdx.y * results * sizeof(R) + offset(out, result)) =
        narrow<R>(found[threadIdx.x]);
}
