// Local response normalization and its gradient: one thread per element, channels fastest.
//
// The neighborhood has `across` channels on each side, or `around` pixels within a channel.
struct Local {
  i32 channels, height, width, across, around;
  float scale, k, beta;  // alpha / size of the neighborhood; the other constants
};

struct Image {
  i64 example, channel, row, column;  // strides in elements
};

struct Number {
  i32 n, c, h, w;
};

__device__ __forceinline__ Number number_of(const Local& l, u32 i) {
  Number at;
  at.c = i % l.channels;
  i /= l.channels;
  at.w = i % l.width;
  i /= l.width;
  at.h = i % l.height;
  at.n = i / l.height;
  return at;
}

__device__ __forceinline__ i64 offset(const Image& m, const Number& at) {
  return at.n * m.example + at.c * m.channel + at.h * m.row + at.w * m.column;
}

// The sum of f over the neighborhood of an element.
template <class F>
__device__ __forceinline__ float around(const Local& l, const Number& at, const F& f) {
  float sum = 0;
  for (i32 c = max(at.c - l.across, 0); c <= min(at.c + l.across, l.channels - 1); ++c)
    for (i32 h = max(at.h - l.around, 0); h <= min(at.h + l.around, l.height - 1); ++h)
      for (i32 w = max(at.w - l.around, 0); w <= min(at.w + l.around, l.width - 1); ++w)
        sum += f(Number{at.n, c, h, w});
  return sum;
}

__device__ __forceinline__ float base(const Local& l, const Number& at, const Image& m, const T* x) {
  const float squares = around(l, at, [&](const Number& near) {
    const float number = wide(x[offset(m, near)]);
    return number * number;
  });
  return l.k + l.scale * squares;
}

extern "C" __global__ void lrn(Local l, u32 count, Image at_x, Image at_y, const T* x, T* y) {
  for (ALL_OF(i, count)) {
    const Number at = number_of(l, i);
    const float number = wide(x[offset(at_x, at)]);
    y[offset(at_y, at)] = narrow<T>(number * powf(base(l, at, at_x, x), -l.beta));
  }
}

// gy * x * base^(-beta - 1), which `lrn_grad` sums over the neighbors.
extern "C" __global__ void lrn_through(Local l, u32 count, Image at_gy, Image at_x, const T* gy,
                                       const T* x, float* through) {
  for (ALL_OF(i, count)) {
    const Number at = number_of(l, i);
    const float product = wide(gy[offset(at_gy, at)]) * wide(x[offset(at_x, at)]);
    through[i] = product * powf(base(l, at, at_x, x), -l.beta - 1);
  }
}

extern "C" __global__ void lrn_grad(Local l, u32 count, Image at_gy, Image at_x, Image at_gx,
                                    const T* gy, const T* x, const float* through, T* gx) {
  for (ALL_OF(i, count)) {
    const Number at = number_of(l, i);
    const float direct = wide(gy[offset(at_gy, at)]) * powf(base(l, at, at_x, x), -l.beta);
    const float sum = around(l, at, [&](const Number& n) {
      return through[((i64)(n.n * l.height + n.h) * l.width + n.w) * l.channels + n.c];
    });
    const float number = wide(x[offset(at_x, at)]);
    gx[offset(at_gx, at)] = narrow<T>(direct - 2 * l.scale * l.beta * number * sum);
  }
}
