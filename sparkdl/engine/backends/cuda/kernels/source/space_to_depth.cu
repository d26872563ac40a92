// Moves blocks of BLOCK x BLOCK pixels of an image into channels: each thread writes 8 elements.
//
// T is the input type, R the output type. The input has CHANNELS channels; the output is channels
// last and has OUT, a multiple of 8.
struct Blocks {
  i64 example, channel, row, column;  // strides of x in elements
  i32 height, width, above, before, rows, columns;  // of x; leading zeros; of y
};

extern "C" __global__ void space_to_depth(Blocks b, u32 count, const T* x, R* y) {
  for (ALL_OF(i, count)) {
    const u32 first = i % (OUT / 8) * 8;
    u32 n = i / (OUT / 8);
    const i32 column = (i32)(n % b.columns) * BLOCK - b.before;
    n /= b.columns;
    const i32 row = (i32)(n % b.rows) * BLOCK - b.above;
    n /= b.rows;
    Pack<R, 8> made;
#pragma unroll
    for (u32 v = 0; v < 8; ++v) {
      const u32 c = first + v, beside = c / CHANNELS;  // position in the block; channels fastest
      const i32 h = row + (i32)(beside / BLOCK), w = column + (i32)(beside % BLOCK);
      const bool there = beside < BLOCK * BLOCK && (u32)h < (u32)b.height && (u32)w < (u32)b.width;
      made.at[v] = narrow<R>(
          there ? wide(x[n * b.example + c % CHANNELS * b.channel + h * b.row + w * b.column]) : 0.0f);
    }
    reinterpret_cast<Pack<R, 8>*>(y)[i] = made;
  }
}
