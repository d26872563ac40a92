// Arrays side by side: a row of y is a row of each of them, one behind the other. A plane of blocks to
// each array; what is counted are packs of V of T, whatever they hold.

typedef Pack<T, V> P;
struct Parts { const P* at[MOST]; };
struct Places { u32 start[MOST], width[MOST]; };

extern "C" __global__ void join(const __grid_constant__ Parts parts,
                                const __grid_constant__ Places places, u32 rows, u32 width, P* y) {
  const u32 own = places.width[blockIdx.y], count = rows * own;
  const P* from = parts.at[blockIdx.y];
  P* to = y + places.start[blockIdx.y];
  for (ALL_OF(i, count)) to[(u64)(i / own) * width + i % own] = from[i];
}
