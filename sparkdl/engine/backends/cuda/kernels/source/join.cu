// Concatenates arrays along their rows: row i of y is row i of each array, in turn. blockIdx.y
// selects the array; widths and offsets count packs of V elements of type T.

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
