// y = a * y + b * x, in place; y = a * y if x is null.

extern "C" __global__ void combine(u64 count, float a, float b, const T* x, T* y) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float more = x ? b * wide(x[i]) : 0.0f;
    y[i] = narrow<T>(a * wide(y[i]) + more);
  }
}
