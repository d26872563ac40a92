// Copies the i-th element of x to the i-th of y, whatever their shapes and memory layouts.
#include "walk.cuh"

extern "C" __global__ void relayout(LAYOUT at_x, LAYOUT at_y, u32 count, const char* x, char* y) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    *(T*)(y + offset(at_y, i)) = *(const T*)(x + offset(at_x, i));
}
