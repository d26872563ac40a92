// Pooling and its gradients: a thread for each number that is made, channels fastest.
//
// T the type of numbers, P that of places in a window; COUNT_PADDING: means are of whole windows.
#include "windows.cuh"

// The i-th number of an array with channels last: its channel and place; i becomes its example.
__device__ __forceinline__ Place place_of(u32& i, const i32 (&sizes)[3], u32 channels, u32& channel) {
  channel = i % channels;
  i /= channels;
  return place_of(i, sizes);
}

__device__ __forceinline__ Place place_in(const Windows& w, u32 i) { return place_of(i, w.size); }

// The largest of each window, and where in the window the first such is.
extern "C" __global__ void max_pool(Windows w, u32 channels, u32 count, Lies at_x, Lies at_y,
                                    Lies at_p, const T* x, T* y, P* places) {
  const u32 size = w.size[0] * w.size[1] * w.size[2];
  for (ALL_OF(i, count)) {
    u32 n = i, c, first = 0;
    const Place window = place_of(n, w.out, channels, c);
    typename Wide<T>::type top = -INFINITY;
    for (u32 p = 0; p < size; ++p) {
      Place found;
      if (!seen(w, window, place_in(w, p), found)) continue;
      const typename Wide<T>::type number = wide(x[offset(at_x, n, c, found)]);
      if (number > top) first = p;
      top = larger(top, number);
    }
    if (y) y[offset(at_y, n, c, window)] = narrow<T>(top);
    if (places) places[offset(at_p, n, c, window)] = (P)first;
  }
}

// For each place of an image the sum of what the windows that see it give; `part` is the function of
// (example, channel, which of its places a window sees there, window) that says what one gives.
template <class Part>
__device__ __forceinline__ void add_up(const Windows& w, u32 channels, u32 count, const Lies& at_gx,
                                       T* gx, const Part& part) {
  const u32 size = w.size[0] * w.size[1] * w.size[2];
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place found = place_of(n, w.space, channels, c);
    typename Wide<T>::type sum = 0;
    for (u32 p = 0; p < size; ++p) {
      Place window;
      if (seeing(w, found, place_in(w, p), window)) sum += part(n, c, p, window);
    }
    gx[offset(at_gx, n, c, found)] = narrow<T>(sum);
  }
}

// What each window gives to the place of its largest.
extern "C" __global__ void max_to_places(Windows w, u32 channels, u32 count, Lies at_gy, Lies at_p,
                                         Lies at_gx, const T* gy, const P* places, T* gx) {
  add_up(w, channels, count, at_gx, gx, [&](u32 n, u32 c, u32 p, const Place& window) {
    const bool its = places[offset(at_p, n, c, window)] == p;
    return its ? wide(gy[offset(at_gy, n, c, window)]) : (typename Wide<T>::type)0;
  });
}

// Of g, what lies at each window's place.
extern "C" __global__ void max_picked(Windows w, u32 channels, u32 count, Lies at_g, Lies at_p,
                                      Lies at_y, const T* g, const P* places, T* y) {
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place window = place_of(n, w.out, channels, c);
    Place found;
    const bool there = seen(w, window, place_in(w, places[offset(at_p, n, c, window)]), found);
    y[offset(at_y, n, c, window)] = there ? g[offset(at_g, n, c, found)] : narrow<T>(0.0f);
  }
}

// By how much a window's sum is divided.
__device__ __forceinline__ float numbers_in(const Windows& w, const Place& window) {
  float count = 1;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
#if COUNT_PADDING
    count *= w.size[a];
#else
    const i32 from = window.at[a] * w.stride[a] - w.before[a], apart = w.dilation[a];
    const i32 skipped = from < 0 ? (apart - 1 - from) / apart : 0;
    const i32 end = (w.space[a] - 1 - from) / apart + 1;
    count *= (end < w.size[a] ? end : w.size[a]) - skipped;
#endif
  }
  return count;
}

extern "C" __global__ void mean_pool(Windows w, u32 channels, u32 count, Lies at_x, Lies at_y,
                                     const T* x, T* y) {
  const u32 size = w.size[0] * w.size[1] * w.size[2];
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place window = place_of(n, w.out, channels, c);
    typename Wide<T>::type sum = 0;
    for (u32 p = 0; p < size; ++p) {
      Place found;
      if (seen(w, window, place_in(w, p), found)) sum += wide(x[offset(at_x, n, c, found)]);
    }
    y[offset(at_y, n, c, window)] = narrow<T>(sum / numbers_in(w, window));
  }
}

extern "C" __global__ void mean_pool_grad(Windows w, u32 channels, u32 count, Lies at_gy, Lies at_gx,
                                          const T* gy, T* gx) {
  add_up(w, channels, count, at_gx, gx, [&](u32 n, u32 c, u32, const Place& window) {
    return wide(gy[offset(at_gy, n, c, window)]) / numbers_in(w, window);
  });
}
