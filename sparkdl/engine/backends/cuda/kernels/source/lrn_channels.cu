// Local response normalization over contiguous channels, and its gradient: a thread computes V
// adjacent channels, and loads these and their neighbors once.
//
// T is the type of elements; a neighborhood has ACROSS channels on each side, 2 * ACROSS <= V;
// BETA is the exponent.
struct Constants {
  float scale, k;
};

// Loads V channels and HALO more on each side, as floats; 0 beyond the ends.
template <int HALO>
__device__ __forceinline__ void with_neighbors(const T* x, u32 i, u32 pack, u32 packs,
                                               float (&numbers)[V + 2 * HALO]) {
  const Pack<T, V>* own = reinterpret_cast<const Pack<T, V>*>(x) + i;
  const Pack<T, V> here = own[0];
#pragma unroll
  for (int v = 0; v < V; ++v) numbers[HALO + v] = wide(here.at[v]);
  Pack<T, V> before = {}, behind = {};
  if (pack > 0) before = own[-1];
  if (pack + 1 < packs) behind = own[1];
#pragma unroll
  for (int h = 0; h < HALO; ++h) {
    numbers[h] = wide(before.at[V - HALO + h]);
    numbers[HALO + V + h] = wide(behind.at[h]);
  }
}

struct Fallen { float power, inverse; };  // base^-BETA and 1 / base

__device__ __forceinline__ Fallen fallen(float base) {
  if (BETA != 0.75f) return {powf(base, -BETA), 1 / base};
  const float root = rsqrtf(base);
  return {root * sqrtf(root), root * root};
}

// The sum of squares of the neighborhood that starts at `first`.
template <int N> __device__ __forceinline__ float squares(const float (&x)[N], int first) {
  float sum = 0;
#pragma unroll
  for (int j = 0; j <= 2 * ACROSS; ++j) sum += x[first + j] * x[first + j];
  return sum;
}

extern "C" __global__ void lrn_channels(Constants l, u32 packs, u32 count, const T* x, T* y) {
  for (ALL_OF(i, count)) {
    float numbers[V + 2 * ACROSS];
    with_neighbors<ACROSS>(x, i, i % packs, packs, numbers);
    Pack<T, V> made;
#pragma unroll
    for (int v = 0; v < V; ++v)
      made.at[v] = narrow<T>(numbers[ACROSS + v] * fallen(l.k + l.scale * squares(numbers, v)).power);
    reinterpret_cast<Pack<T, V>*>(y)[i] = made;
  }
}

extern "C" __global__ void lrn_channels_grad(Constants l, u32 packs, u32 count, const T* gy, const T* x,
                                             T* gx) {
  for (ALL_OF(i, count)) {
    const u32 pack = i % packs;
    float numbers[V + 4 * ACROSS], given[V + 2 * ACROSS], direct[V], through[V + 2 * ACROSS];
    with_neighbors<2 * ACROSS>(x, i, pack, packs, numbers);
    with_neighbors<ACROSS>(gy, i, pack, packs, given);
#pragma unroll
    for (int j = 0; j < V + 2 * ACROSS; ++j) {  // summed over neighbors below
      const Fallen f = fallen(l.k + l.scale * squares(numbers, j));
      const bool there = (j >= ACROSS || pack > 0) && (j < V + ACROSS || pack + 1 < packs);
      through[j] = there ? given[j] * numbers[ACROSS + j] * f.power * f.inverse : 0;
      if (j >= ACROSS && j < V + ACROSS) direct[j - ACROSS] = given[j] * f.power;
    }
    Pack<T, V> made;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float sum = 0;
#pragma unroll
      for (int j = 0; j <= 2 * ACROSS; ++j) sum += through[v + j];
      made.at[v] = narrow<T>(direct[v] - 2 * l.scale * BETA * numbers[2 * ACROSS + v] * sum);
    }
    reinterpret_cast<Pack<T, V>*>(gx)[i] = made;
  }
}
