// Softmax and log-softmax along the last axis, their gradients, and cross entropy with labels.
//
// A block computes one row, whose elements lie `next` bytes apart. T is their type, W the type to
// compute in, L the type of labels; LOGARITHM selects log-softmax.
#include "together.cuh"
#include "walk.cuh"

typedef typename Wide<T>::type W;

__device__ __forceinline__ W number(const char* row, i64 next, int i) {
  return wide(*(const T*)(row + i * next));
}
__device__ __forceinline__ void set(char* row, i64 next, int i, W x) {
  *(T*)(row + i * next) = narrow<T>(x);
}

struct Sums { W top, total; };  // the maximum, and the sum of exp(x - top)

const W LOWEST = sizeof(W) == 8 ? (W)-1.7976931348623157e308 : (W)-3.402823466e38f;
const int AT_ONCE = 4;  // elements that a thread loads before it uses the first

// In one pass: a new maximum rescales the sum so far. Threads start from the lowest finite number,
// because -inf - (-inf) is NaN.
__device__ __forceinline__ Sums sums_of(const char* row, i64 next, int length) {
  W top = LOWEST, total = 0;
  for (int i = threadIdx.x; i < length; i += AT_ONCE * blockDim.x) {
    W numbers[AT_ONCE], largest = top;
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) {
      const int at = i + j * blockDim.x;
      numbers[j] = at < length ? number(row, next, at) : -INFINITY;
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) largest = larger(largest, numbers[j]);
    total *= exp(top - largest);
#pragma unroll
    for (int j = 0; j < AT_ONCE; ++j) total += exp(numbers[j] - largest);
    top = largest;
  }
  const W all = largest_of_block(top);
  return {all, sum_of_block(total * exp(top - all))};
}

extern "C" __global__ void __launch_bounds__(1024)
    softmax(LAYOUT rows_x, LAYOUT rows_y, i64 next_x, i64 next_y, int length,
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

extern "C" __global__ void __launch_bounds__(1024)
    softmax_grad(LAYOUT rows_gy, LAYOUT rows_y, LAYOUT rows_gx, i64 next_gy,
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

// A label out of range gives NaN.
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy(i64 next_row, i64 next, i64 next_label, i64 next_loss,
                                         int length, const char* x, const char* labels,
                                         char* losses) {
  x += blockIdx.x * next_row;
  const Sums s = sums_of(x, next, length);
  if (threadIdx.x) return;
  const i64 label = *(const L*)(labels + blockIdx.x * next_label);
  const W own = label >= 0 && label < length ? number(x, next, label) : (W)NAN;
  *(T*)(losses + blockIdx.x * next_loss) = narrow<T>(log(s.total) - (own - s.top));
}

// The gradient of the cross entropy for a row: gy * (softmax - one_hot(label)).
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_grad(i64 next_row, i64 next, i64 next_label, i64 next_gy,
                                              i64 next_row_gx, i64 next_gx, int length, const char* x,
                                              const char* labels, const char* gy, char* gx) {
  x += blockIdx.x * next_row;
  gx += blockIdx.x * next_row_gx;
  const Sums s = sums_of(x, next, length);
  const i64 label = *(const L*)(labels + blockIdx.x * next_label);
  const W given = wide(*(const T*)(gy + blockIdx.x * next_gy)), scale = 1 / s.total;
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    set(gx, next_gx, i, given * (exp(number(x, next, i) - s.top) * scale - (i == label ? 1 : 0)));
}
