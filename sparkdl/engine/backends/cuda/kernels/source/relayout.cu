// The i-th number of x to the place of the i-th of y, whatever their shapes and orders in memory.
#include "walk.cuh"

extern "C" __global__ void relayout(LAYOUT at_x, LAYOUT at_y, u32 count, const char* x, char* y) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    *(T*)(y + offset(at_y, i)) = *(const T*)(x + offset(at_x, i));
}
