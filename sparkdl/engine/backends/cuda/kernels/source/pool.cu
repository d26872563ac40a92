// Pooling and its gradients: each thread computes V adjacent channels, channels fastest.
//
// T is the type of elements, P that of positions in a window. SIZE0 to DILATION2 are compile-time
// constants, so that divisions by them are cheap. UNROLL: 1 for windows too large to be unrolled.
// COUNT_PADDING: means include the padding.
#include "windows.cuh"

typedef Wide<T>::type W;

// The windows that cover an element along an axis: at most REACH.
template <i32 SIZE, i32 STRIDE, i32 DILATION> struct Axis {
  static const i32 REACH = DILATION == 1 ? (SIZE + STRIDE - 1) / STRIDE : SIZE;

  // Finds the k-th window that covers the element at offset `from` from the start of the first
  // window, and the element's position in it; false if there is none.
  static __device__ __forceinline__ bool seeing(i32 from, i32 k, i32 windows, i32& window, i32& place) {
    if (DILATION == 1) {
      window = from / STRIDE - k;
      place = from - window * STRIDE;
      return window >= 0 && window < windows && place < SIZE;
    }
    place = k;
    from -= k * DILATION;
    window = from / STRIDE;
    return from >= 0 && from % STRIDE == 0 && window < windows;
  }
};

typedef Axis<SIZE0, STRIDE0, DILATION0> Axis0;
typedef Axis<SIZE1, STRIDE1, DILATION1> Axis1;
typedef Axis<SIZE2, STRIDE2, DILATION2> Axis2;

// The place and first channel of the i-th pack of V channels in a channels-last array; i becomes
// the example.
__device__ __forceinline__ Place place_of(u32& i, const i32 (&sizes)[3], u32 channels, u32& channel) {
  const u32 packs = channels / V;
  channel = i % packs * V;
  i /= packs;
  return place_of(i, sizes);
}

// The place in the input under position (a, b, c) of a window.
__device__ __forceinline__ Place place_in(const Windows& w, const Place& window, i32 a, i32 b, i32 c) {
  return {{window.at[0] * STRIDE0 - w.before[0] + a * DILATION0,
           window.at[1] * STRIDE1 - w.before[1] + b * DILATION1,
           window.at[2] * STRIDE2 - w.before[2] + c * DILATION2}};
}

__device__ __forceinline__ bool inside(const Windows& w, const Place& at) {
  return (u32)at.at[0] < (u32)w.space[0] && (u32)at.at[1] < (u32)w.space[1] &&
         (u32)at.at[2] < (u32)w.space[2];
}

// Calls f(position in the window, place in the input) for each position that is not padding.
template <class F>
__device__ __forceinline__ void each_seen(const Windows& w, const Place& window, const F& f) {
#pragma unroll UNROLL
  for (i32 a = 0; a < SIZE0; ++a)
#pragma unroll UNROLL
    for (i32 b = 0; b < SIZE1; ++b)
#pragma unroll UNROLL
      for (i32 c = 0; c < SIZE2; ++c) {
        const Place found = place_in(w, window, a, b, c);
        if (inside(w, found)) f((u32)((a * SIZE1 + b) * SIZE2 + c), found);
      }
}

// Calls f(position in the window, window) for each window that covers a place.
template <class F>
__device__ __forceinline__ void each_seeing(const Windows& w, const Place& found, const F& f) {
  const i32 from[3] = {found.at[0] + w.before[0], found.at[1] + w.before[1], found.at[2] + w.before[2]};
#pragma unroll UNROLL
  for (i32 a = 0; a < Axis0::REACH; ++a)
#pragma unroll UNROLL
    for (i32 b = 0; b < Axis1::REACH; ++b)
#pragma unroll UNROLL
      for (i32 c = 0; c < Axis2::REACH; ++c) {
        Place window, place;
        if (Axis0::seeing(from[0], a, w.out[0], window.at[0], place.at[0]) &&
            Axis1::seeing(from[1], b, w.out[1], window.at[1], place.at[1]) &&
            Axis2::seeing(from[2], c, w.out[2], window.at[2], place.at[2]))
          f((u32)((place.at[0] * SIZE1 + place.at[1]) * SIZE2 + place.at[2]), window);
      }
}

template <class N> __device__ __forceinline__ Pack<N, V> pack_at(const N* from) {
  return *reinterpret_cast<const Pack<N, V>*>(from);
}

__device__ __forceinline__ void put_sums(T* to, const W (&sums)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int v = 0; v < V; ++v) pack.at[v] = narrow<T>(sums[v]);
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

// The maximum of each window, and its first position in the window.
extern "C" __global__ void max_pool(Windows w, u32 channels, u32 count, Lies at_x, Lies at_y,
                                    Lies at_p, const T* x, T* y, P* places) {
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place window = place_of(n, w.out, channels, c);
    W top[V];
    Pack<P, V> first;
#pragma unroll
    for (int v = 0; v < V; ++v) top[v] = -INFINITY, first.at[v] = 0;
    each_seen(w, window, [&](u32 p, const Place& found) {
      const Pack<T, V> numbers = pack_at(x + offset(at_x, n, c, found));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const W number = wide(numbers.at[v]);
        if (number > top[v]) first.at[v] = (P)p;
        top[v] = larger(top[v], number);
      }
    });
    if (y) put_sums(y + offset(at_y, n, c, window), top);
    if (places) *reinterpret_cast<Pack<P, V>*>(places + offset(at_p, n, c, window)) = first;
  }
}

// Sums the contributions of all windows that cover a place, for each place of an image;
// part(example, first channel, position in the window, window, sums) adds one contribution.
template <class Part>
__device__ __forceinline__ void add_up(const Windows& w, u32 channels, u32 count, const Lies& at_gx,
                                       T* gx, const Part& part) {
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place found = place_of(n, w.space, channels, c);
    W sums[V] = {};
    each_seeing(w, found, [&](u32 p, const Place& window) { part(n, c, p, window, sums); });
    put_sums(gx + offset(at_gx, n, c, found), sums);
  }
}

// Adds the gradient of each window at the place of its maximum.
extern "C" __global__ void max_to_places(Windows w, u32 channels, u32 count, Lies at_gy, Lies at_p,
                                         Lies at_gx, const T* gy, const P* places, T* gx) {
  add_up(w, channels, count, at_gx, gx, [&](u32 n, u32 c, u32 p, const Place& window, W (&sums)[V]) {
    const Pack<P, V> its = pack_at(places + offset(at_p, n, c, window));
    const Pack<T, V> given = pack_at(gy + offset(at_gy, n, c, window));
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (its.at[v] == (P)p) sums[v] += wide(given.at[v]);
  });
}

// Gathers g at the recorded position of each window.
extern "C" __global__ void max_picked(Windows w, u32 channels, u32 count, Lies at_g, Lies at_p,
                                      Lies at_y, const T* g, const P* places, T* y) {
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place window = place_of(n, w.out, channels, c);
    const Pack<P, V> its = pack_at(places + offset(at_p, n, c, window));
    Pack<T, V> picked;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const i32 p = its.at[v];
      const Place found = place_in(w, window, p / (SIZE1 * SIZE2), p / SIZE2 % SIZE1, p % SIZE2);
      picked.at[v] = inside(w, found) ? g[offset(at_g, n, c + v, found)] : narrow<T>(0.0f);
    }
    *reinterpret_cast<Pack<T, V>*>(y + offset(at_y, n, c, window)) = picked;
  }
}

// How many elements a window's sum includes along an axis.
__device__ __forceinline__ i32 seen_along(i32 window, i32 size, i32 stride, i32 dilation, i32 before, i32 space) {
#if COUNT_PADDING
  return size;
#else
  const i32 from = window * stride - before;
  const i32 skipped = from < 0 ? (dilation - 1 - from) / dilation : 0;
  const i32 end = (space - 1 - from) / dilation + 1;
  return (end < size ? end : size) - skipped;
#endif
}

// The divisor of a window's mean.
__device__ __forceinline__ float numbers_in(const Windows& w, const Place& window) {
  return (float)seen_along(window.at[0], SIZE0, STRIDE0, DILATION0, w.before[0], w.space[0]) *
         (float)seen_along(window.at[1], SIZE1, STRIDE1, DILATION1, w.before[1], w.space[1]) *
         (float)seen_along(window.at[2], SIZE2, STRIDE2, DILATION2, w.before[2], w.space[2]);
}

extern "C" __global__ void mean_pool(Windows w, u32 channels, u32 count, Lies at_x, Lies at_y,
                                     const T* x, T* y) {
  for (ALL_OF(i, count)) {
    u32 n = i, c;
    const Place window = place_of(n, w.out, channels, c);
    W sums[V] = {};
    each_seen(w, window, [&](u32, const Place& found) {
      const Pack<T, V> numbers = pack_at(x + offset(at_x, n, c, found));
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v] += wide(numbers.at[v]);
    });
    const float numbers = numbers_in(w, window);
#pragma unroll
    for (int v = 0; v < V; ++v) sums[v] /= numbers;
    put_sums(y + offset(at_y, n, c, window), sums);
  }
}

extern "C" __global__ void mean_pool_grad(Windows w, u32 channels, u32 count, Lies at_gy, Lies at_gx,
                                          const T* gy, T* gx) {
  add_up(w, channels, count, at_gx, gx, [&](u32 n, u32 c, u32, const Place& window, W (&sums)[V]) {
    const Pack<T, V> given = pack_at(gy + offset(at_gy, n, c, window));
    const float numbers = numbers_in(w, window);
#pragma unroll
    for (int v = 0; v < V; ++v) sums[v] += wide(given.at[v]) / numbers;
  });
}
