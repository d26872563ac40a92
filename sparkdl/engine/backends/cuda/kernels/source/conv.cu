// Convolution and its two gradients as implicit matrix products: each element of the matrices is
// read from where it lies in the array.
//
// A block computes a 64 x 64 tile of a group's product, each thread 4 x 4 of it, from strips in
// shared memory. T is the input type, R the output type, BIAS the bias type; AFTER(a) is the
// epilogue. Channels are the fastest part of the depth, since images are channels last.
#include "windows.cuh"

const int TILE = 64, STRIP = 16, EACH = 4;

struct Channels {
  u32 inner, outer;  // of one group: input channels and filters
};

__device__ __forceinline__ u32 volume(const i32 (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

// The input under the windows: a line for each window, over (position, channel).
struct Seen {
  Windows w;
  Lies lies;
  Channels channels;
  const T* x;  // of the group

  struct Line {
    u32 example;
    Place window;
  };
  struct Depth {
    u32 channel;
    Place place;
  };
  __device__ __forceinline__ Line line(u32 i) const {
    Line line;
    line.window = place_of(i, w.out);
    line.example = i;
    return line;
  }
  __device__ __forceinline__ Depth depth(u32 i) const {
    Depth depth;
    depth.channel = i % channels.inner;
    i /= channels.inner;
    depth.place = place_of(i, w.size);
    return depth;
  }
  __device__ __forceinline__ float at(const Line& line, const Depth& depth) const {
    Place found;
    if (!seen(w, line.window, depth.place, found)) return 0;
    return (float)wide(x[offset(lies, line.example, depth.channel, found)]);
  }
};

// The transpose of Seen: a line for each (position, channel), over windows.
struct SeenAcross : Seen {
  typedef Seen::Depth Line;
  typedef Seen::Line Depth;
  __device__ __forceinline__ Line line(u32 i) const { return Seen::depth(i); }
  __device__ __forceinline__ Depth depth(u32 i) const { return Seen::line(i); }
  __device__ __forceinline__ float at(const Line& line, const Depth& depth) const {
    return Seen::at(depth, line);
  }
};

// The output gradients of the windows that cover a place: a line for each place, over (position in
// the window, filter).
struct Given {
  Windows w;
  Lies lies;
  Channels channels;
  const T* gy;  // of the group

  struct Line {
    u32 example;
    Place found;
  };
  struct Depth {
    u32 filter;
    Place place;
  };
  __device__ __forceinline__ Line line(u32 i) const {
    Line line;
    line.found = place_of(i, w.space);
    line.example = i;
    return line;
  }
  __device__ __forceinline__ Depth depth(u32 i) const {
    Depth depth;
    depth.filter = i % channels.outer;
    i /= channels.outer;
    depth.place = place_of(i, w.size);
    return depth;
  }
  __device__ __forceinline__ float at(const Line& line, const Depth& depth) const {
    Place window;
    if (!seeing(w, line.found, depth.place, window)) return 0;
    return (float)wide(gy[offset(lies, line.example, depth.filter, window)]);
  }
};

// The output gradients in their own order: a line for each filter, over windows.
struct Gradients {
  Windows w;
  Lies lies;
  const T* gy;  // of the group

  typedef u32 Line;
  typedef Seen::Line Depth;
  __device__ __forceinline__ Line line(u32 i) const { return i; }
  __device__ __forceinline__ Depth depth(u32 i) const {
    Depth depth;
    depth.window = place_of(i, w.out);
    depth.example = i;
    return depth;
  }
  __device__ __forceinline__ float at(Line line, const Depth& depth) const {
    return (float)wide(gy[offset(lies, depth.example, line, depth.window)]);
  }
};

// Filters: a line for each filter, over (position, channel); ACROSS: a line for each channel, over
// (position, filter).
template <bool ACROSS> struct Filters {
  Windows w;
  Lies lies;  // its `example` is the stride between filters
  Channels channels;
  const T* filters;  // of the group

  typedef u32 Line;
  struct Depth {
    u32 other;
    Place place;
  };
  __device__ __forceinline__ Line line(u32 i) const { return i; }
  __device__ __forceinline__ Depth depth(u32 i) const {
    const u32 others = ACROSS ? channels.outer : channels.inner;
    Depth depth;
    depth.other = i % others;
    i /= others;
    depth.place = place_of(i, w.size);
    return depth;
  }
  __device__ __forceinline__ float at(Line line, const Depth& depth) const {
    const u32 filter = ACROSS ? depth.other : line, channel = ACROSS ? line : depth.other;
    return (float)wide(filters[offset(lies, filter, channel, depth.place)]);
  }
};

// This thread's 4 x 4 of left times right, over the depths from begin to end.
template <class Left, class Right>
__device__ __forceinline__ void product(const Left& left, const Right& right, u32 rows, u32 columns,
                                        u32 begin, u32 end, float (&sums)[4][4]) {
  __shared__ float ls[STRIP][TILE + 4], rs[STRIP][TILE + 4];
  const u32 row = blockIdx.x * TILE, column = blockIdx.y * TILE;
  const u32 deep = threadIdx.x % STRIP, first = threadIdx.x / STRIP;
  const u32 above = first * 4, beside = deep * 4;
  typename Left::Line lines[EACH];
  typename Right::Line across[EACH];
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    lines[i] = left.line(row + first + 16 * i);
    across[i] = right.line(column + first + 16 * i);
  }
  for (u32 k = begin; k < end; k += STRIP) {
    const bool there = k + deep < end;
    const typename Left::Depth down = left.depth(k + deep);
    const typename Right::Depth along = right.depth(k + deep);
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const u32 at = first + 16 * i;
      ls[deep][at] = there && row + at < rows ? left.at(lines[i], down) : 0;
      rs[deep][at] = there && column + at < columns ? right.at(across[i], along) : 0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < STRIP; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += ls[d][above + i] * rs[d][beside + j];
    __syncthreads();
  }
}

// Writes this thread's 4 x 4 after bias and epilogue: rows are places of `sizes` in each example,
// columns are channels of the group, whose first channel is `first`.
__device__ __forceinline__ void write(const float (&sums)[4][4], u32 rows, u32 columns,
                                      const i32 (&sizes)[3], const Lies& lies, u32 first,
                                      const BIAS* bias, R* y) {
  const u32 row = blockIdx.x * TILE + threadIdx.x / 16 * 4;
  const u32 column = blockIdx.y * TILE + threadIdx.x % 16 * 4;
#pragma unroll  // keeps sums in registers
  for (u32 i = 0; i < 4; ++i) {
    if (row + i >= rows) continue;
    u32 n = row + i;
    const Place place = place_of(n, sizes);
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      if (column + j >= columns) continue;
      const u32 channel = first + column + j;
      const float a = bias ? sums[i][j] + (float)wide(bias[channel]) : sums[i][j];
      y[offset(lies, n, channel, place)] = narrow<R>(AFTER(a));
    }
  }
}

extern "C" __global__ void __launch_bounds__(256)
    conv(Windows w, Channels channels, u32 examples, Lies at_x, Lies at_w, Lies at_y, const T* x,
         const T* filters, const BIAS* bias, R* y) {
  const u32 inner = blockIdx.z * channels.inner, outer = blockIdx.z * channels.outer;
  const u32 rows = examples * volume(w.out), depth = volume(w.size) * channels.inner;
  float sums[4][4] = {};
  const Seen left = {w, at_x, channels, x + inner * at_x.channel};
  const Filters<false> right = {w, at_w, channels, filters + outer * at_w.example};
  product(left, right, rows, channels.outer, 0, depth, sums);
  write(sums, rows, channels.outer, w.out, at_y, outer, bias, y);
}

extern "C" __global__ void __launch_bounds__(256)
    conv_grad_input(Windows w, Channels channels, u32 examples, Lies at_gy, Lies at_w, Lies at_gx,
                    const T* gy, const T* filters, const BIAS* bias, R* gx) {
  const u32 inner = blockIdx.z * channels.inner, outer = blockIdx.z * channels.outer;
  const u32 rows = examples * volume(w.space), depth = volume(w.size) * channels.outer;
  float sums[4][4] = {};
  const Given left = {w, at_gy, channels, gy + outer * at_gy.channel};
  const Filters<true> right = {w, at_w, channels, filters + outer * at_w.example};
  product(left, right, rows, channels.inner, 0, depth, sums);
  write(sums, rows, channels.inner, w.space, at_gx, inner, bias, gx);
}

// Each part covers `part` windows and writes its own gradient of all filters of all groups: a row
// for each filter, over (position, channel). grid.z: group, then part.
extern "C" __global__ void __launch_bounds__(256)
    conv_grad_weight(Windows w, Channels channels, u32 groups, u32 examples, u32 part, Lies at_gy,
                     Lies at_x, const T* gy, const T* x, float* sums_of_parts) {
  const u32 group = blockIdx.z % groups, begin = blockIdx.z / groups * part;
  const u32 columns = volume(w.size) * channels.inner, windows = examples * volume(w.out);
  const u32 end = windows - begin < part ? windows : begin + part;
  float sums[4][4] = {};
  const Gradients left = {w, at_gy, gy + group * channels.outer * at_gy.channel};
  SeenAcross right;
  right.w = w;
  right.lies = at_x;
  right.channels = channels;
  right.x = x + group * channels.inner * at_x.channel;
  product(left, right, channels.outer, columns, begin, end, sums);
  const u32 row = blockIdx.x * TILE + threadIdx.x / 16 * 4;
  const u32 column = blockIdx.y * TILE + threadIdx.x % 16 * 4;
  float* to = sums_of_parts + (i64)blockIdx.z * channels.outer * columns;
#pragma unroll
  for (u32 i = 0; i < 4; ++i)
#pragma unroll
    for (u32 j = 0; j < 4; ++j)
      if (row + i < channels.outer && column + j < columns)
        to[(i64)(row + i) * columns + column + j] = sums[i][j];
}

extern "C" __global__ void conv_grad_weight_sum(Windows w, u32 inner, u32 filters, u32 parts,
                                                Lies at_gw, const float* sums_of_parts, R* gw) {
  const u32 count = filters * volume(w.size) * inner;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (u32 part = 0; part < parts; ++part) sum += sums_of_parts[(i64)part * count + i];
    u32 filter = i / inner;
    const Place place = place_of(filter, w.size);
    gw[offset(at_gw, filter, i % inner, place)] = narrow<R>(sum);
  }
}
