// y = AFTER(SCALE * x w + bias) for matrices, or doubly batched matrices, with any strides.
//
// A block computes a 64 x 64 tile, each thread 4 x 4 of it, from strips in shared memory.
// T is the input type, R the output type, BIAS the bias type; AFTER(a) is the epilogue.
const int TILE = 64, STRIP = 16;

struct Matrix {
  i64 row, column, outer, inner;  // strides in elements
};

// Loads a strip of 64 rows x STRIP elements along k; adjacent threads read adjacent elements.
__device__ __forceinline__ void strip(float (*to)[TILE + 4], const T* from, i64 along, i64 k_step,
                                      int first, int rows, int k, int depth) {
  const bool k_fast = k_step == 1;
#pragma unroll
  for (int i = 0; i < TILE * STRIP / 256; ++i) {
    const int t = threadIdx.x + 256 * i;
    const int r = k_fast ? t / STRIP : t % TILE, d = k_fast ? t % STRIP : t / TILE;
    const bool there = first + r < rows && k + d < depth;
    to[d][r] = there ? (float)wide(from[(first + r) * along + (k + d) * k_step]) : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    gemm(int m, int n, int depth, int inner, Matrix at_x, Matrix at_w, Matrix at_y, const T* x, const T* w,
         const BIAS* bias, R* y) {
  __shared__ float xs[STRIP][TILE + 4], ws[STRIP][TILE + 4];
  const int row = blockIdx.x * TILE, column = blockIdx.y * TILE;
  const int above = threadIdx.x / 16 * 4, left = threadIdx.x % 16 * 4;
  x += blockIdx.z / inner * at_x.outer + blockIdx.z % inner * at_x.inner;
  w += blockIdx.z / inner * at_w.outer + blockIdx.z % inner * at_w.inner;
  y += blockIdx.z / inner * at_y.outer + blockIdx.z % inner * at_y.inner;
  float sums[4][4] = {};
  for (int k = 0; k < depth; k += STRIP) {
    strip(xs, x, at_x.row, at_x.column, row, m, k, depth);
    strip(ws, w, at_w.column, at_w.row, column, n, k, depth);
    __syncthreads();
#pragma unroll
    for (int d = 0; d < STRIP; ++d)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += xs[d][above + i] * ws[d][left + j];
    __syncthreads();
  }
  for (int i = 0; i < 4 && row + above + i < m; ++i)
    for (int j = 0; j < 4 && column + left + j < n; ++j) {
      const int r = row + above + i, c = column + left + j;
      const float sum = SCALE * sums[i][j];
      const float a = bias ? sum + (float)wide(bias[c]) : sum;
      y[r * at_y.row + c * at_y.column] = narrow<R>(AFTER(a));
    }
}
