// Resizes images: one thread per output element, channels fastest.
//
// Along each axis an output is interpolated from two neighbors: `first` is the index of the first
// one, `share` holds the weights of both. For the gradient, `range` holds the bounds of the outputs
// that use an input.
#include "windows.cuh"

struct Sizes {
  i32 from[3], to[3];
};

extern "C" __global__ void resize(Sizes sizes, u32 channels, u32 count, Lies at_x, Lies at_y,
                                  const i32* first0, const i32* first1, const i32* first2,
                                  const float* share0, const float* share1, const float* share2,
                                  const T* x, T* y) {
  const i32* const first[3] = {first0, first1, first2};
  const float* const share[3] = {share0, share1, share2};
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const u32 c = i % channels;
    u32 n = i / channels;
    const Place to = place_of(n, sizes.to);
    float sum = 0;
    for (int corner = 0; corner < 8; ++corner) {
      float weight = 1;
      Place from;
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        const int side = corner >> a & 1;
        weight *= share[a][2 * to.at[a] + side];
        from.at[a] = first[a][to.at[a]] + side;
      }
      if (weight != 0) sum += weight * wide(x[offset(at_x, n, c, from)]);
    }
    y[offset(at_y, n, c, to)] = narrow<T>(sum);
  }
}

// The weight of the input at `from` in the output at `to`, along one axis.
__device__ __forceinline__ float given(const i32* first, const float* share, i32 from, i32 to) {
  const i32 side = from - first[to];
  return side == 0 || side == 1 ? share[2 * to + side] : 0;
}

extern "C" __global__ void resize_grad(Sizes sizes, u32 channels, u32 count, Lies at_gy, Lies at_gx,
                                       const i32* first0, const i32* first1, const i32* first2,
                                       const float* share0, const float* share1,
                                       const float* share2, const i32* range0, const i32* range1,
                                       const i32* range2, const T* gy, T* gx) {
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const u32 c = i % channels;
    u32 n = i / channels;
    const Place from = place_of(n, sizes.from);
    const i32* const range[3] = {range0 + 2 * from.at[0], range1 + 2 * from.at[1],
                                 range2 + 2 * from.at[2]};
    float sum = 0;
    Place to;
    for (to.at[0] = range[0][0]; to.at[0] < range[0][1]; ++to.at[0]) {
      const float depth = given(first0, share0, from.at[0], to.at[0]);
      for (to.at[1] = range[1][0]; to.at[1] < range[1][1]; ++to.at[1]) {
        const float row = depth * given(first1, share1, from.at[1], to.at[1]);
        for (to.at[2] = range[2][0]; to.at[2] < range[2][1]; ++to.at[2])
          sum += row * given(first2, share2, from.at[2], to.at[2]) *
                 wide(gy[offset(at_gy, n, c, to)]);
      }
    }
    gx[offset(at_gx, n, c, from)] = narrow<T>(sum);
  }
}
