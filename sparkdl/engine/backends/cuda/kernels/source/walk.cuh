// The offset of the i-th element of an array: up to 8 axes, the last one fastest. Kernels take it
// as a LAYOUT: without __grid_constant__ each thread would have a copy in local memory.
struct Walk {
  int axes;
  u32 size[8];
  i64 step[8];  // bytes
};

#define LAYOUT const __grid_constant__ Walk

__device__ __forceinline__ i64 offset(const Walk& walk, u32 i) {
  if (walk.axes == 1) return i * walk.step[0];
  i64 at = 0;
#pragma unroll 1
  for (int a = walk.axes - 1; a > 0; --a) {
    at += i % walk.size[a] * walk.step[a];
    i /= walk.size[a];
  }
  return walk.axes ? at + i * walk.step[0] : at;
}
