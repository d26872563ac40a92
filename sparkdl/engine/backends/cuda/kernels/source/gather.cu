// Rows of a table by their numbers, and the gradient: rows added into a table.
//
// T the type of the numbers, I that of the indices. Both sides lie row behind row; `width` numbers a row.

// An index that is not there gives a row of NaN, of integers zeros.
extern "C" __global__ void gather(u64 count, u32 width, i64 rows, const T* table, const I* indices,
                                  T* y) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const i64 row = (i64)indices[i / width];
    const bool there = row >= 0 && row < rows;
    y[i] = there ? table[row * width + i % width] : narrow<T>(MISSING);
  }
}

// Each index with its place, as a number to sort by; what is not there sorts behind all.
extern "C" __global__ void keys(u32 count, u32 length, i64 rows, const I* indices, u64* keys) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
    const i64 row = i < count ? (i64)indices[i] : -1;
    const u64 first = row >= 0 && row < rows ? (u64)row : 0xffffffffull;
    keys[i] = first << 32 | i;
  }
}

__device__ __forceinline__ void in_order(u64& a, u64& b, bool rising) {
  if ((a > b) == rising) {
    const u64 c = a;
    a = b;
    b = c;
  }
}

// A step of a bitonic sort: numbers `apart` places from each other, in runs of 2 `run`.
extern "C" __global__ void sort_step(u32 length, u32 run, u32 apart, u64* keys) {
  for (u32 t = blockIdx.x * blockDim.x + threadIdx.x; t < length / 2; t += gridDim.x * blockDim.x) {
    const u32 i = t / apart * 2 * apart + t % apart;
    in_order(keys[i], keys[i + apart], !(i & 2 * run));
  }
}

// All steps of runs up to `last` that a block of 256 threads can do by itself, on 512 numbers.
extern "C" __global__ void __launch_bounds__(256)
    sort_block(u32 first, u32 last, u64* keys) {
  __shared__ u64 own[512];
  const u32 begin = blockIdx.x * 512, t = threadIdx.x;
  own[t] = keys[begin + t];
  own[t + 256] = keys[begin + t + 256];
  for (u32 run = first; run <= last; run *= 2)
    for (u32 apart = run < 256 ? run : 256; apart; apart /= 2) {
      __syncthreads();
      const u32 i = t / apart * 2 * apart + t % apart;
      in_order(own[i], own[i + apart], !(begin + i & 2 * run));
    }
  __syncthreads();
  keys[begin + t] = own[t];
  keys[begin + t + 256] = own[t + 256];
}

// The rows of y with one index, added in their order into the table's row: a block where a run of
// equal indices begins.
extern "C" __global__ void add_runs(u32 count, u32 width, const u64* keys, const T* y, T* table) {
  for (u32 begin = blockIdx.x; begin < count; begin += gridDim.x) {
    const u64 row = keys[begin] >> 32;
    if (row == 0xffffffffull || (begin && keys[begin - 1] >> 32 == row)) continue;
    for (u32 column = threadIdx.x; column < width; column += blockDim.x) {
      typename Wide<T>::type sum = 0;
      for (u32 i = begin; i < count && keys[i] >> 32 == row; ++i)
        sum += wide(y[(keys[i] & 0xffffffffull) * width + column]);
      table[row * width + column] = narrow<T>(sum);
    }
  }
}
