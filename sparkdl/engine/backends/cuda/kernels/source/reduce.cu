// Sums, or with MAXIMUM the largest, of numbers along some axes of an array.
//
// A block of 256 threads has `lanes` results beside each other and 256 / lanes threads for each.
// Along grid.y blocks share the numbers of a result, `part` each, and leave a row of results each.
//
// T what is read, A what is added up in, R what is written.
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
