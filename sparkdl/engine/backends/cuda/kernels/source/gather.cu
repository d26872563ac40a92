// Gathers rows of a table by index, and the gradient: adds rows into a table.
//
// T is the type of elements, I that of indices. Rows are contiguous, `width` elements each.

// An index out of range gives a row of NaN, or of zeros for integers.
extern "C" __global__ void gather(u64 count, u32 width, i64 rows, const T* table, const I* indices,
                                  T* y) {
  for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const i64 row = (i64)indices[i / width];
    const bool there = row >= 0 && row < rows;
    y[i] = there ? table[row * width + i % width] : narrow<T>(MISSING);
  }
}

// Sort keys of (index, position); indices out of range sort last.
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

// One step of a bitonic sort: compares keys `apart` positions apart, in runs of 2 * `run`.
extern "C" __global__ void sort_step(u32 length, u32 run, u32 apart, u64* keys) {
  for (u32 t = blockIdx.x * blockDim.x + threadIdx.x; t < length / 2; t += gridDim.x * blockDim.x) {
    const u32 i = t / apart * 2 * apart + t % apart;
    in_order(keys[i], keys[i + apart], !(i & 2 * run));
  }
}

// All steps of runs `first` to `last` that fit in a block of 256 threads and 512 keys.
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

const u32 NOWHERE = 0xffffffff;

__device__ __forceinline__ u32 index_at(const u64* keys, u32 i) { return (u32)(keys[i] >> 32); }

typedef Wide<T>::type W;

// Partial sums, stored after the keys: of a chunk's first run, then of its last.
__device__ __forceinline__ W* part(u64* keys, u32 length, u32 chunk, bool last, u32 width) {
  return reinterpret_cast<W*>(keys + length) + (2 * (u64)chunk + last) * width;
}

// Sums the rows of y with equal index, in order, into the table's row. Each block of grid.x takes
// CHUNK sorted rows; a run of equal indices that spans chunks leaves a partial sum in each.
extern "C" __global__ void add_runs(u32 count, u32 length, u32 width, u64* keys, const T* y, T* table) {
  const u32 begin = blockIdx.x * CHUNK, end = count - begin < CHUNK ? count : begin + CHUNK;
  const u32 column = blockIdx.y * blockDim.x + threadIdx.x;
  if (column >= width) return;
  const bool open_before = begin && index_at(keys, begin - 1) == index_at(keys, begin);
  W sum = 0;
  for (u32 i = begin, first = begin; i < end; ++i) {
    const u32 row = index_at(keys, i);
    if (row == NOWHERE) break;
    sum += wide(y[(keys[i] & 0xffffffffull) * width + column]);
    if (i + 1 < end && index_at(keys, i + 1) == row) continue;
    const bool open_behind = i + 1 == end && end < count && index_at(keys, end) == row;
    if (open_behind || (first == begin && open_before))
      part(keys, length, blockIdx.x, first != begin, width)[column] = sum;
    else
      table[(u64)row * width + column] = narrow<T>(sum);
    sum = 0;
    first = i + 1;
  }
}

// Adds up the runs that span chunks, each in the block of the chunk where it begins.
extern "C" __global__ void add_parts(u32 count, u32 length, u32 width, u64* keys, T* table) {
  const u32 begin = blockIdx.x * CHUNK, end = begin + CHUNK;
  const u32 column = blockIdx.y * blockDim.x + threadIdx.x;
  if (end >= count || column >= width) return;
  const u32 row = index_at(keys, end - 1);
  if (row == NOWHERE || index_at(keys, end) != row) return;
  const bool whole = index_at(keys, begin) == row;
  if (whole && begin && index_at(keys, begin - 1) == row) return;
  W sum = part(keys, length, blockIdx.x, !whole, width)[column];
  for (u32 next = end; next < count && index_at(keys, next) == row; next += CHUNK)
    sum += part(keys, length, next / CHUNK, false, width)[column];
  table[(u64)row * width + column] = narrow<T>(sum);
}
