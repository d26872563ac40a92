// Random numbers that depend only on (seed, stream, id, epoch, element); see sparkdl/philox.py.
//
// Each thread draws four numbers of one example. NORMAL: Box-Muller transform to normal numbers.
#include "walk.cuh"

__device__ __forceinline__ void philox(u32 c[4], u32 k0, u32 k1) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 low = 0xD2511F53ull * c[0], high = 0xCD9E8D57ull * c[2];
    c[0] = (u32)(high >> 32) ^ c[1] ^ k0;
    c[1] = (u32)high;
    c[2] = (u32)(low >> 32) ^ c[3] ^ k1;
    c[3] = (u32)low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

extern "C" __global__ void draw(LAYOUT at, u32 examples, u32 count, i64 example, u32 key0, u32 key1,
                                const u64* ids, i64 next_id, const u64* epoch, char* y) {
  const u32 blocks = (count + 3) / 4;
  const u64 total = (u64)examples * blocks;
  for (u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x; t < total; t += gridDim.x * blockDim.x) {
    const u32 row = t / blocks, block = t % blocks;
    const u64 id = *(const u64*)((const char*)ids + row * next_id);
    u32 word[4] = {(u32)id, (u32)(id >> 32), (u32)*epoch, block};
    philox(word, key0, key1);
    float number[4];
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
#if NORMAL
      const float radius = sqrtf(-2.0f * logf((float)((u64)word[i] + 1) * 0x1p-32f));
      const float turns = (float)word[i + 1] * 0x1p-31f;  // times pi; sinf would use local memory
      number[i] = radius * cospif(turns);
      number[i + 1] = radius * sinpif(turns);
#else
      number[i] = (float)(word[i] >> 8) * 0x1p-24f;
      number[i + 1] = (float)(word[i + 1] >> 8) * 0x1p-24f;
#endif
    }
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      if (block * 4 + i < count)
        *(float*)(y + row * example + offset(at, block * 4 + i)) = number[i];
  }
}
