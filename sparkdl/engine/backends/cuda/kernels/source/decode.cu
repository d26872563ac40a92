// Converts stored images to the input of a network, as described by Pixels in
// sparkdl/data/transforms/pixels.py.

struct Lie { i64 channel, row, column; };  // strides in elements; 0 to broadcast

__device__ __forceinline__ i64 at(const Lie& lie, u32 channel, u32 row, u32 column) {
  return channel * lie.channel + row * lie.row + column * lie.column;
}

// S is the stored type, T the output type. A thread writes all channels of one pixel of the output,
// `height` x `width`, and zeros in channels up to `places`. A window is (first row, first column,
// rows reversed, columns reversed).
extern "C" __global__ void decode(u32 pixels, u32 places, u32 channels, u32 height, u32 width,
                                  u32 rows, u32 columns, const S* images, const i32* windows,
                                  const float* mean, Lie of_mean, const float* factor,
                                  Lie of_factor, char* y, i64 image, Lie of_y) {
  for (ALL_OF(t, pixels)) {
    const u32 j = t % width, i = t / width % height, n = t / width / height;
    const i32* window = windows + 4 * n;
    const u32 row = window[0] + (window[2] ? height - 1 - i : i);
    const u32 column = window[1] + (window[3] ? width - 1 - j : j);
    const S* stored = images + ((u64)n * channels * rows + row) * columns + column;
    for (u32 c = 0; c < channels; ++c) {
      const float x = (float)wide(stored[(u64)c * rows * columns]);
      const float left = x - mean[at(of_mean, c, row, column)];
      const float value = left * factor[at(of_factor, c, row, column)];
      *(T*)(y + n * image + at(of_y, c, i, j)) = narrow<T>(value);
    }
    for (u32 c = channels; c < places; ++c)
      *(T*)(y + n * image + at(of_y, c, i, j)) = narrow<T>(0.0f);
  }
}
