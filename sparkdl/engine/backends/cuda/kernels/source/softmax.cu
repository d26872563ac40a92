// Softmax and its logarithm along the last axis, their gradients, and the cross entropy of labels.
//
// A block has a row of numbers, `next` bytes from one to the next. T is their type, W what they are
// computed in, L the type of labels; LOGARITHM says which of the two softmaxes.
#include "together.cuh"
#include "walk.cuh"

typedef typename Wide<T>::type W;

__device__ __forceinline__ W number(const char* row, i64 next, int i) {
  return wide(*(const T*)(row + i * next));
}
__device__ __forceinline__ void set(char* row, i64 next, int i, W x) {
  *(T*)(row + i * next) = narrow<T>(x);
}

struct Sums { W top, total; };  // the largest number, and the sum of e to each less that

__device__ __forceinline__ Sums sums_of(const char* row, i64 next, int length) {
  W top = number(row, next, 0), total = 0;
  for (int i = threadIdx.x; i < length; i += blockDim.x) top = larger(top, number(row, next, i));
  top = largest_of_block(top);
  for (int i = threadIdx.x; i < length; i += blockDim.x) total += exp(number(row, next, i) - top);
  return {top, sum_of_block(total)};
}

extern "C" __global__ void softmax(LAYOUT rows_x, LAYOUT rows_y, i64 next_x, i64 next_y, int length,
                                   const char* x, char* y) {
  x += offset(rows_x, blockIdx.x);
  y += offset(rows_y, blockIdx.x);
  const Sums s = sums_of(x, next_x, length);
  const W scale = LOGARITHM ? log(s.total) : 1 / s.total;
  for (int i = threadIdx.x; i < length; i += blockDim.x) {
    const W from_top = number(x, next_x, i) - s.top;
    set(y, next_y, i, LOGARITHM ? from_top - scale : exp(from_top) * scale);
  }
}

extern "C" __global__ void softmax_grad(LAYOUT rows_gy, LAYOUT rows_y, LAYOUT rows_gx, i64 next_gy,
                                        i64 next_y, i64 next_gx, int length, const char* gy,
                                        const char* y, char* gx) {
  gy += offset(rows_gy, blockIdx.x);
  y += offset(rows_y, blockIdx.x);
  gx += offset(rows_gx, blockIdx.x);
  W total = 0;
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    total += number(gy, next_gy, i) * (LOGARITHM ? 1 : number(y, next_y, i));
  total = sum_of_block(total);
  for (int i = threadIdx.x; i < length; i += blockDim.x) {
    const W g = number(gy, next_gy, i), p = number(y, next_y, i);
    set(gx, next_gx, i, LOGARITHM ? g - exp(p) * total : p * (g - total));
  }
}

// A label that is no class gives NaN.
extern "C" __global__ void cross_entropy(i64 next_row, i64 next, i64 next_label, i64 next_loss,
                                         int length, const char* x, const char* labels,
                                         char* losses) {
  x += blockIdx.x * next_row;
  const Sums s = sums_of(x, next, length);
  if (threadIdx.x) return;
  const i64 label = *(const L*)(labels + blockIdx.x * next_label);
  const W own = label >= 0 && label < length ? number(x, next, label) : (W)NAN;
  *(T*)(losses + blockIdx.x * next_loss) = narrow<T>(log(s.total) - (own - s.top));
}
