// Runs a kernel's own source on the processor, one block at a time.
//
// Where threads of a block meet (__syncthreads, shuffles), each is a fibre of its own, entered by
// swapcontext and left by longjmp; else a block is a plain loop over its threads (`flat`).
// Not seen here: races between threads that do not meet, wrong alignment, what the hardware limits.
#pragma once
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>

using std::ceil; using std::cos; using std::erf; using std::exp; using std::expm1; using std::fabs;
using std::floor; using std::fmax; using std::fmin; using std::isfinite; using std::isnan;
using std::log; using std::log1p; using std::max; using std::min; using std::pow; using std::rint;
using std::sin; using std::sqrt; using std::tanh;

struct dim3 { unsigned x, y, z; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;
const int warpSize = 32;

#define __global__
#define __device__
#define __constant__ static
#define __forceinline__ inline
#define __shared__ static
#define __restrict__
#define __grid_constant__
#define __launch_bounds__(...)
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __ldg(p) (*(p))
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fdividef(float x, float y) { return x / y; }
inline float sinpif(float x) { return sin(3.141592653589793 * x); }
inline float cospif(float x) { return cos(3.141592653589793 * x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (uint64_t)x * y >> 32; }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline void __threadfence() {}
inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
inline int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }

namespace emu {

const size_t STACK = 64 << 10, LARGEST_BLOCK = 1024;

struct Fibre { ucontext_t first; jmp_buf at; bool entered, done; };
struct Meeting { unsigned here, alive, turn; };  // of a block or a warp

static Fibre fibres[LARGEST_BLOCK];
static Meeting block, warps[LARGEST_BLOCK / 32];
static uint64_t shown[LARGEST_BLOCK];  // what lanes show each other
static char *stacks, *dynamic;
static ucontext_t outside;
static jmp_buf scheduler;
static unsigned current, moved;
static void (*body)(void**);
static void** parameters;

inline void give_way() { if (!_setjmp(fibres[current].at)) _longjmp(scheduler, 1); }

inline void open(Meeting& m) { m.here = 0; ++m.turn; ++moved; }

inline void meet(Meeting& m) {
  const unsigned turn = m.turn;
  if (++m.here == m.alive) open(m);
  while (m.turn == turn) give_way();
}

inline void leave(Meeting& m) { if (--m.alive && m.here == m.alive) open(m); }

static void life() {
  body(parameters);
  fibres[current].done = true;
  ++moved;
  leave(block);
  leave(warps[current / 32]);
  _longjmp(scheduler, 1);
}

static void place(unsigned i) {
  current = i;
  threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
}

static void resume(unsigned i) {
  place(i);
  Fibre& f = fibres[i];
  if (_setjmp(scheduler)) return;
  if (f.entered) _longjmp(f.at, 1);
  f.entered = true;
  getcontext(&f.first);
  f.first.uc_stack.ss_sp = stacks + i * STACK;
  f.first.uc_stack.ss_size = STACK;
  f.first.uc_link = nullptr;
  makecontext(&f.first, life, 0);
  swapcontext(&outside, &f.first);
}

static void run_fibres(unsigned count) {
  if (!stacks) stacks = (char*)malloc(STACK * LARGEST_BLOCK);
  block = {0, count, 0};
  for (unsigned w = 0; w * 32 < count; ++w) warps[w] = {0, min(32u, count - w * 32), 0};
  for (unsigned i = 0; i < count; ++i) fibres[i].entered = fibres[i].done = false;
  while (block.alive) {
    moved = 0;
    for (unsigned i = 0; i < count; ++i) if (!fibres[i].done) resume(i);
    if (!moved) { fprintf(stderr, "threads of a block wait for each other for ever\n"); abort(); }
  }
}

static void run_block(unsigned count, bool flat) {
  if (!flat) run_fibres(count);
  else for (unsigned i = 0; i < count; ++i) { place(i); body(parameters); }
}

static void launch(void (*kernel)(void**), const unsigned* grid, const unsigned* threads,
                   size_t shared, void** values, bool flat) {
  body = kernel;
  parameters = values;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {threads[0], threads[1], threads[2]};
  dynamic = (char*)aligned_alloc(256, (shared + 511) / 256 * 256);
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        blockIdx = {x, y, z};
        memset(dynamic, 0xff, shared);  // NaN, so that what nobody wrote is seen
        run_block(threads[0] * threads[1] * threads[2], flat);
      }
  free(dynamic);
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** values, std::index_sequence<I...>) {
  kernel(*(A*)values[I]...);
}
template <class... A> void call(void (*kernel)(A...), void** values) {
  call(kernel, values, std::index_sequence_for<A...>());
}

inline Meeting& warp() { return warps[current / 32]; }

template <class T> T shuffled(T value, unsigned lane) {
  memcpy(&shown[current], &value, sizeof(T));
  meet(warp());
  uint64_t other = shown[current / 32 * 32 + lane % 32];
  meet(warp());
  memcpy(&value, &other, sizeof(T));
  return value;
}

inline unsigned ballot(bool is) {
  shown[current] = is;
  meet(warp());
  unsigned votes = 0, first = current / 32 * 32;
  for (unsigned i = 0; i < 32 && first + i < LARGEST_BLOCK; ++i)
    if (first + i < blockDim.x * blockDim.y * blockDim.z && !fibres[first + i].done)
      votes |= (unsigned)shown[first + i] << i;
  meet(warp());
  return votes;
}

}  // namespace emu

#define DYNAMIC_SHARED(T, name) T* name = (T*)emu::dynamic
#define __syncthreads() emu::meet(emu::block)
#define __syncwarp(...) emu::meet(emu::warp())
#define __shfl_sync(m, v, lane) emu::shuffled(v, lane)
#define __shfl_xor_sync(m, v, o) emu::shuffled(v, emu::current ^ (unsigned)(o))
#define __shfl_down_sync(m, v, o) \
  emu::shuffled(v, emu::current % 32 + (o) < 32 ? emu::current + (o) : emu::current)
#define __shfl_up_sync(m, v, o) \
  emu::shuffled(v, emu::current % 32 >= (unsigned)(o) ? emu::current - (o) : emu::current)
#define __ballot_sync(m, p) emu::ballot(p)
#define __any_sync(m, p) (emu::ballot(p) != 0)
#define __all_sync(m, p) (emu::ballot(!(p)) == 0)

template <class T, class U> T atomicAdd(T* at, U x) { T old = *at; *at = old + x; return old; }
template <class T, class U> T atomicMax(T* at, U x) { T old = *at; *at = max(old, (T)x); return old; }
template <class T, class U> T atomicMin(T* at, U x) { T old = *at; *at = min(old, (T)x); return old; }
template <class T, class U> T atomicExch(T* at, U x) { T old = *at; *at = x; return old; }
template <class T, class U, class V> T atomicCAS(T* at, U is, V x) {
  T old = *at;
  if (old == (T)is) *at = x;
  return old;
}
