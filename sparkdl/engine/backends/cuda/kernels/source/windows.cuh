// Windows that slide over up to three spatial axes, shared by convolution and pooling.

struct Windows {
  i32 out[3], space[3], size[3], stride[3], before[3], dilation[3];
};

// Strides, in elements, of an array (N, C, three spatial axes).
struct Lies {
  i64 example, channel, space[3];
};

struct Place {
  i32 at[3];
};

// The place of index i % volume, last axis fastest; i becomes i / volume.
__device__ __forceinline__ Place place_of(u32& i, const i32 (&sizes)[3]) {
  Place place;
#pragma unroll
  for (int a = 2; a >= 0; --a) {
    place.at[a] = i % sizes[a];
    i /= sizes[a];
  }
  return place;
}

__device__ __forceinline__ i64 offset(const Lies& lies, u32 n, u32 c, const Place& place) {
  i64 at = n * lies.example + c * lies.channel;
#pragma unroll
  for (int a = 0; a < 3; ++a) at += place.at[a] * lies.space[a];
  return at;
}

// Finds the place in the input under position `place` of a window; false if it is padding.
__device__ __forceinline__ bool seen(const Windows& w, const Place& window, const Place& place,
                                     Place& found) {
  bool inside = true;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    found.at[a] = window.at[a] * w.stride[a] - w.before[a] + place.at[a] * w.dilation[a];
    inside &= (u32)found.at[a] < (u32)w.space[a];
  }
  return inside;
}

// Finds the window whose position `place` covers `found`; false if there is none.
__device__ __forceinline__ bool seeing(const Windows& w, const Place& found, const Place& place,
                                       Place& window) {
  bool there = true;
#pragma unroll
  for (int a = 0; a < 3; ++a) {
    const i32 from = found.at[a] + w.before[a] - place.at[a] * w.dilation[a];
    window.at[a] = from / w.stride[a];
    there &= from >= 0 && from % w.stride[a] == 0 && window.at[a] < w.out[a];
  }
  return there;
}
