// Reverses the steps of sequences; padding stays in place.

// The source of each step of a sequence: one thread per sequence.
extern "C" __global__ void places(u32 examples, i32 steps, i64 next_row, i64 next_step,
                                  const char* mask, i32* places) {
  const u32 row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= examples) return;
  const char* here = mask + row * next_row;
  i32* place = places + (i64)row * steps;
  i32 last = steps - 1;
  for (i32 t = 0; t < steps; ++t) {
    place[t] = t;
    if (wide(*(const M*)(here + t * next_step)) == 0) continue;
    while (wide(*(const M*)(here + last * next_step)) == 0) --last;
    place[t] = last--;
  }
}

extern "C" __global__ void taken(u64 count, i32 steps, u32 width, const i32* places, const T* x, T* y) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const u64 step = i / width, row = step / steps;
    y[i] = x[(row * steps + places[step]) * width + i % width];
  }
}
