// Shared by all kernels: 16-bit floats, vector loads, and functions that treat NaN as numpy does.

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;

struct bf16 { u16 bits; };
struct f16 { u16 bits; };

union Word { u32 bits; float number; };

__device__ __forceinline__ float as_float(u32 bits) { Word w; w.bits = bits; return w.number; }
__device__ __forceinline__ u32 as_bits(float x) { Word w; w.number = x; return w.bits; }

// The type in which to compute with a type: float for 16-bit floats.
template <class T> struct Wide { typedef T type; };
template <> struct Wide<bf16> { typedef float type; };
template <> struct Wide<f16> { typedef float type; };

template <class T> __device__ __forceinline__ T wide(T x) { return x; }
__device__ __forceinline__ float wide(bf16 x) { return as_float((u32)x.bits << 16); }

#ifdef __CUDACC_RTC__
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#define DYNAMIC_SHARED(T, name) \
  extern __shared__ __align__(16) u8 dynamic_shared[]; \
  T* name = reinterpret_cast<T*>(dynamic_shared)
__device__ __forceinline__ float wide(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ __forceinline__ u16 half_bits(float x) {
  u16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ u16 brain_bits(float x) {
  u16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#else
inline float wide(f16 x) {
  const u32 sign = (u32)(x.bits & 0x8000) << 16, rest = (u32)(x.bits & 0x7fff) << 13;
  if ((x.bits & 0x7c00) == 0x7c00) return as_float(sign | 0x7f800000 | rest);
  return as_float(sign | as_bits(as_float(rest) * 0x1p112f));
}
inline u16 half_bits(float x) {
  const u32 bits = as_bits(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00;
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest < 0x38800000) return sign | (as_bits(as_float(rest) + 0.5f) - 0x3f000000);
  return sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}
inline u16 brain_bits(float x) {
  const u32 bits = as_bits(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
#endif

// Converts a wide number to the storage type.
template <class T> struct Narrow {
  template <class W> static __device__ __forceinline__ T of(W x) { return (T)x; }
};
template <> struct Narrow<bf16> {
  static __device__ __forceinline__ bf16 of(float x) { bf16 y; y.bits = brain_bits(x); return y; }
};
template <> struct Narrow<f16> {
  static __device__ __forceinline__ f16 of(float x) { f16 y; y.bits = half_bits(x); return y; }
};
template <class T, class W> __device__ __forceinline__ T narrow(W x) { return Narrow<T>::of(x); }

// Rounds a wide number to the precision of the storage type T.
template <class T, class W> __device__ __forceinline__ typename Wide<T>::type rounded(W x) {
  return wide(narrow<T>(x));
}

// V adjacent elements, read or written by one instruction if at least V are left.
template <class T, int V> struct alignas(sizeof(T) * V) Pack { T at[V]; };

template <int V, class T> __device__ __forceinline__ Pack<T, V> take(const T* from, u64 left) {
  if (left >= V) return *reinterpret_cast<const Pack<T, V>*>(from);
  Pack<T, V> pack;
#pragma unroll
  for (int v = 0; v < V; ++v) pack.at[v] = from[v < left ? v : 0];
  return pack;
}

template <int V, class T>
__device__ __forceinline__ void put(T* to, const Pack<T, V>& pack, u64 left) {
  if (left >= V) {
    *reinterpret_cast<Pack<T, V>*>(to) = pack;
  } else {
#pragma unroll
    for (int v = 0; v < V; ++v)
      if (v < left) to[v] = pack.at[v];
  }
}

template <class T> __device__ __forceinline__ T larger(T x, T y) { return x > y || x != x ? x : y; }
template <class T> __device__ __forceinline__ T smaller(T x, T y) { return x < y || x != x ? x : y; }
template <class T> __device__ __forceinline__ T magnitude(T x) { return x < 0 ? -x : x; }
template <> __device__ __forceinline__ float magnitude(float x) { return fabsf(x); }
template <> __device__ __forceinline__ double magnitude(double x) { return fabs(x); }
template <class T> __device__ __forceinline__ T sign(T x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(smaller(-x, 88.0f))); }
__device__ __forceinline__ double sigmoid(double x) { return 1.0 / (1.0 + exp(smaller(-x, 709.0))); }

template <class T> __device__ __forceinline__ T softplus(T x) {
  return larger(x, (T)0) + log1p(exp(-magnitude(x)));
}

// The head of a grid-stride loop: the threads of the grid share the indices from 0 to count - 1.
#define ALL_OF(i, count) \
  u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x
