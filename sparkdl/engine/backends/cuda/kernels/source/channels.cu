// Statistics of each channel for normalization: mean and variance, and sums for the gradient.
//
// A block of 256 threads computes `lanes` adjacent channels, with 256 / lanes threads for each.
// Each block along grid.y reduces `part` elements of a channel and writes one row of partial
// results; the second kernel of each kind combines the rows.
//
// T is the type of x, G that of gy.
#include "walk.cuh"

typedef typename Wide<T>::type A;

// The count, the mean, and the sum of squared deviations from the mean.
struct Moments { A count, mean, squares; };
struct Slopes { A gy, product; };

// Chan, Golub and LeVeque, Algorithms for computing the sample variance (1983), eq. 2.1.
__device__ __forceinline__ Moments joined(Moments x, Moments y) {
  if (x.count == 0) return y;
  if (y.count == 0) return x;
  const A count = x.count + y.count, away = y.mean - x.mean, share = y.count / count;
  const Moments both = {count, x.mean + away * share,
                        x.squares + y.squares + away * away * share * x.count};
  return both;
}
__device__ __forceinline__ Slopes joined(Slopes x, Slopes y) {
  const Slopes both = {x.gy + y.gy, x.product + y.product};
  return both;
}

// Combines the results of all threads of a channel; the first of them gets it.
template <class S> __device__ __forceinline__ S of_threads(S own, u32 lanes) {
  __shared__ S all[256];
  all[threadIdx.x] = own;
  for (u32 apart = 128; apart >= lanes; apart /= 2) {
    __syncthreads();
    if (threadIdx.x < apart) all[threadIdx.x] = joined(all[threadIdx.x], all[threadIdx.x + apart]);
  }
  return all[threadIdx.x];
}

// Combines the rows that the blocks left for a channel; its first thread gets the result.
template <class S>
__device__ __forceinline__ S of_rows(const S* found, S own, u32 channel, u32 channels, u32 rows, u32 lanes) {
  if (channel < channels)
    for (u32 i = threadIdx.x / lanes; i < rows; i += 256 / lanes)
      own = joined(own, found[(u64)i * channels + channel]);
  return of_threads(own, lanes);
}

#define PLACE                                                          \
  const u32 channel = blockIdx.x * lanes + threadIdx.x % lanes;        \
  const bool first = threadIdx.x < lanes && channel < channels

#define SHARE                                                          \
  const u32 begin = blockIdx.y * part + threadIdx.x / lanes;           \
  const u32 rest = length - blockIdx.y * part, end = length - rest + (rest < part ? rest : part)

extern "C" __global__ void moments(LAYOUT along, i64 step, u32 channels, u32 length, u32 part,
                                   u32 lanes, const char* x, Moments* found) {
  PLACE;
  SHARE;
  Moments own = {0, 0, 0};
  if (channel < channels && begin < end) {
    const char* from = x + channel * step;
    const A shift = wide(*(const T*)(from + offset(along, begin)));  // avoids cancellation
    A sum = 0, squares = 0;
    u32 count = 0;
    for (u32 i = begin; i < end; i += 256 / lanes, ++count) {
      const A away = wide(*(const T*)(from + offset(along, i))) - shift;
      sum += away;
      squares += away * away;
    }
    own.count = count;
    own.mean = shift + sum / count;
    own.squares = larger(squares - sum * sum / count, (A)0);
  }
  own = of_threads(own, lanes);
  if (first) found[(u64)blockIdx.y * channels + channel] = own;
}

extern "C" __global__ void moments_joined(u32 channels, u32 rows, u32 lanes, const Moments* found,
                                          A* mean, A* variance) {
  PLACE;
  const Moments nothing = {0, 0, 0}, all = of_rows(found, nothing, channel, channels, rows, lanes);
  if (first) {
    mean[channel] = all.mean;
    variance[channel] = all.squares / all.count;
  }
}

extern "C" __global__ void slopes(LAYOUT along, LAYOUT along_gy, i64 step, i64 step_gy, u32 channels,
                                  u32 length, u32 part, u32 lanes, A epsilon, const char* gy,
                                  const char* x, const A* mean, const A* variance, Slopes* found) {
  PLACE;
  SHARE;
  Slopes own = {0, 0};
  if (channel < channels) {
    const A middle = mean[channel];
    for (u32 i = begin; i < end; i += 256 / lanes) {
      const A g = wide(*(const G*)(gy + channel * step_gy + offset(along_gy, i)));
      own.gy += g;
      own.product += g * (wide(*(const T*)(x + channel * step + offset(along, i))) - middle);
    }
    own.product /= sqrt(variance[channel] + epsilon);
  }
  own = of_threads(own, lanes);
  if (first) found[(u64)blockIdx.y * channels + channel] = own;
}

extern "C" __global__ void slopes_joined(u32 channels, u32 rows, u32 lanes, const Slopes* found, A* gy,
                                         A* product) {
  PLACE;
  const Slopes nothing = {0, 0}, all = of_rows(found, nothing, channel, channels, rows, lanes);
  if (first) {
    gy[channel] = all.gy;
    product[channel] = all.product;
  }
}
