// Numbers of 16 bits on the host, for the doubles of NVIDIA's libraries.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace {

enum { FLOAT = 0, HALF = 2, BRAIN = 14 };  // as in cudaDataType

float of_brain(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float x;
  std::memcpy(&x, &wide, 4);
  return x;
}

uint16_t to_brain(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (std::isnan(x)) return 0x7fc0;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float x = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(1024.0f + fraction, exponent - 25)
                           : std::ldexp((float)fraction, -24);
  return bits >> 15 ? -x : x;
}

uint16_t to_half(float x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return 0x7e00;
  const float size = std::fabs(x);
  if (size >= 65520.0f) return sign | 0x7c00;
  if (size < 6.103515625e-5f) return sign | (uint16_t)std::nearbyint(std::ldexp(size, 24));
  int exponent;
  std::frexp(size, &exponent);
  const int rounded = (int)std::nearbyint(std::ldexp(size, 11 - exponent));  // 1024 to 2048
  return sign | (uint16_t)(((exponent + 13) << 10) + rounded);
}

int bytes(int type) { return type == FLOAT ? 4 : 2; }

float get(const void* from, int type, int64_t i) {
  if (type == FLOAT) return ((const float*)from)[i];
  const uint16_t bits = ((const uint16_t*)from)[i];
  return type == BRAIN ? of_brain(bits) : of_half(bits);
}

void put(void* to, int type, int64_t i, float x) {
  if (type == FLOAT)
    ((float*)to)[i] = x;
  else
    ((uint16_t*)to)[i] = type == BRAIN ? to_brain(x) : to_half(x);
}

}  // namespace

