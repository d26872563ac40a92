// im2col and col2im: one thread per output element.
#include "windows.cuh"

extern "C" __global__ void unfold(Windows w, u32 channels, u32 count, Lies at_x, Lies at_y,
                                  const T* x, T* y) {
  const u32 size = w.size[0] * w.size[1] * w.size[2];
  for (ALL_OF(i, count)) {
    u32 n = i / (channels * size), place = i % size;
    const u32 c = i / size % channels, row = i % (channels * size);
    const Place window = place_of(n, w.out), in_window = place_of(place, w.size);
    Place found;
    const bool inside = seen(w, window, in_window, found);
    y[offset(at_y, n, row, window)] = inside ? x[offset(at_x, n, c, found)] : narrow<T>(0.0f);
  }
}

extern "C" __global__ void fold(Windows w, u32 channels, u32 count, Lies at_gy, Lies at_gx,
                                const T* gy, T* gx) {
  const u32 size = w.size[0] * w.size[1] * w.size[2];
  for (ALL_OF(i, count)) {
    u32 n = i / channels;
    const u32 c = i % channels;
    const Place found = place_of(n, w.space);
    typename Wide<T>::type sum = 0;
    for (u32 p = 0; p < size; ++p) {
      u32 rest = p;
      Place window;
      if (seeing(w, found, place_of(rest, w.size), window))
        sum += wide(gy[offset(at_gy, n, c * size + p, window)]);
    }
    gx[offset(at_gx, n, c, found)] = narrow<T>(sum);
  }
}
