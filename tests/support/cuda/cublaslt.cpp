// A double of libcublasLt: the functions that products need, under the same names and with the same
// arguments, on memory of the host. It is stricter than the library: what may be wrong is refused.
// It stands behind numbers.h.

namespace {

enum Status { OK = 0, NOT_INITIALIZED = 1, INVALID = 7, NOT_SUPPORTED = 15 };
enum { RELU = 2, BIAS = 4, GRADIENT = 16, GELU = 32, SLOPE = 64, AUX = 128, SUM_OF_A = 256 };
const uint64_t ALIVE = 0x6c61697665;

struct Layout {
  uint64_t alive = ALIVE;
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t count = 1;
  int64_t apart = 0;
};

struct Descriptor {
  uint64_t alive = ALIVE;
  int compute, scale;
  int32_t turned_a = 0, turned_b = 0, bias_type = -1;
  uint32_t epilogue = 1;
  void *bias = nullptr, *aux = nullptr;
  int64_t aux_leading = 0;
};

struct Preference {
  uint64_t alive = ALIVE, workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

struct Algorithm {
  uint64_t data[8];  // hash of the product, alignments of a, b, c, d, bytes of workspace
};

struct Found {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

struct Problem {
  const Descriptor* d;
  const Layout *a, *b, *c, *y;
};

bool known(int type) { return type == FLOAT || type == HALF || type == BRAIN; }

template <class T>
int set(T& field, const void* value, size_t size) {
  if (!value || size != sizeof(T)) return INVALID;
  std::memcpy(&field, value, size);
  return OK;
}

float gelu(float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }

float slope(float x) {
  const float t = std::tanh(0.7978845608f * (x + 0.044715f * x * x * x));
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
}

// What makes a product; an algorithm is for one of them.
uint64_t hash(const Problem& p) {
  uint64_t h = 1469598103934665603u;
  auto add = [&](uint64_t x) { h = (h ^ x) * 1099511628211u; };
  for (const Layout* m : {p.a, p.b, p.c, p.y})
    for (uint64_t x : {(uint64_t)m->type, m->rows, m->columns, (uint64_t)m->leading, (uint64_t)m->count,
                       (uint64_t)m->apart})
      add(x);
  for (uint64_t x : {(uint64_t)p.d->turned_a, (uint64_t)p.d->turned_b, (uint64_t)p.d->epilogue,
                     (uint64_t)p.d->bias_type, (uint64_t)p.d->aux_leading, (uint64_t)p.d->compute})
    add(x);
  return h;
}

int fits(const Problem& p) {
  const Layout &a = *p.a, &b = *p.b, &c = *p.c, &y = *p.y;
  const Descriptor& d = *p.d;
  if (d.alive != ALIVE) return INVALID;
  for (const Layout* m : {p.a, p.b, p.c, p.y}) {
    if (m->alive != ALIVE || m->count != y.count || !m->rows || !m->columns) return INVALID;
    if (m->leading < (int64_t)m->rows) return INVALID;
    if (m->count > 1 && m != p.a && m != p.b && m->apart < m->leading * (int64_t)(m->columns - 1) + (int64_t)m->rows &&
        m->leading < m->apart * (int64_t)(m->count - 1) + (int64_t)m->rows)
      return INVALID;  // matrices lie on one another
  }
  const uint64_t m = d.turned_a ? a.columns : a.rows, k = d.turned_a ? a.rows : a.columns;
  const uint64_t n = d.turned_b ? b.rows : b.columns, k2 = d.turned_b ? b.columns : b.rows;
  if (k != k2 || y.rows != m || y.columns != n || c.rows != m || c.columns != n) return INVALID;
  if (a.type != b.type || c.type != y.type) return NOT_SUPPORTED;
  if (y.type != a.type && y.type != FLOAT) return NOT_SUPPORTED;
  if (d.scale != FLOAT || (d.compute != 68 && d.compute != 77)) return NOT_SUPPORTED;
  if (d.compute == 77 && a.type != FLOAT) return NOT_SUPPORTED;
  const uint32_t e = d.epilogue;
  const bool vector = e & (BIAS | GRADIENT | SUM_OF_A);
  if (vector != (d.bias != nullptr)) return INVALID;
  if (vector && (d.bias_type == -1 ? y.type : d.bias_type) != y.type) return NOT_SUPPORTED;
  if (vector && (uintptr_t)d.bias % bytes(y.type)) return INVALID;
  if (bool(e & AUX) != (d.aux != nullptr)) return INVALID;
  if (e & AUX && (d.aux_leading % 8 || d.aux_leading < (int64_t)m || (uintptr_t)d.aux % 16)) return INVALID;
  const uint32_t all[] = {1,           RELU,           BIAS,        RELU | BIAS, GELU, GELU | BIAS, GELU | AUX,
                          GELU | BIAS | AUX, SLOPE | AUX, SLOPE | AUX | GRADIENT, SUM_OF_A};
  for (uint32_t code : all)
    if (code == e) return e & (AUX | GRADIENT | SUM_OF_A) && y.count > 1 ? NOT_SUPPORTED : OK;
  return NOT_SUPPORTED;
}

void multiply(const Problem& p, float alpha, const void* a, const void* b, float beta, const void* c, void* y) {
  const Descriptor& d = *p.d;
  const int64_t m = p.y->rows, n = p.y->columns, k = d.turned_a ? p.a->rows : p.a->columns;
  auto in_a = [&](int64_t s, int64_t i, int64_t l) {
    const int64_t at = d.turned_a ? i * p.a->leading + l : l * p.a->leading + i;
    return get(a, p.a->type, s * p.a->apart + at);
  };
  auto in_b = [&](int64_t s, int64_t l, int64_t j) {
    const int64_t at = d.turned_b ? l * p.b->leading + j : j * p.b->leading + l;
    return get(b, p.b->type, s * p.b->apart + at);
  };
  for (int64_t s = 0; s < p.y->count; ++s)
    for (int64_t i = 0; i < m; ++i) {
      float along = 0;
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += (double)in_a(s, i, l) * in_b(s, l, j);
        float x = alpha * (float)sum;
        if (beta) x += beta * get(c, p.c->type, s * p.c->apart + j * p.c->leading + i);
        if (d.epilogue & BIAS) x += get(d.bias, p.y->type, i);
        if (d.epilogue & GELU && d.epilogue & AUX) put(d.aux, p.y->type, j * d.aux_leading + i, x);
        if (d.epilogue & GELU) x = gelu(x);
        if (d.epilogue & RELU && x < 0) x = 0;
        if (d.epilogue & SLOPE) x *= slope(get(d.aux, p.y->type, j * d.aux_leading + i));
        along += x;
        put(y, p.y->type, s * p.y->apart + j * p.y->leading + i, x);
      }
      if (d.epilogue & SUM_OF_A) {
        along = 0;
        for (int64_t l = 0; l < k; ++l) along += in_a(s, i, l);
      }
      if (d.epilogue & (GRADIENT | SUM_OF_A)) put(d.bias, p.y->type, i, along);
    }
}

int handle;

template <class T>
int end(T* made) {
  if (!made || made->alive != ALIVE) return INVALID;
  made->alive = 0;
  delete made;
  return OK;
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 131000; }

const char* cublasLtGetStatusName(int status) {
  switch (status) {
    case OK: return "CUBLAS_STATUS_SUCCESS";
    case NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case INVALID: return "CUBLAS_STATUS_INVALID_VALUE";
    case 3: return "CUBLAS_STATUS_ALLOC_FAILED";
    default: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}

int cublasLtCreate(void** made) { return *made = &handle, OK; }

int cublasLtMatrixLayoutCreate(Layout** made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  if (!known(type)) return INVALID;
  *made = new Layout;
  (*made)->type = type, (*made)->rows = rows, (*made)->columns = columns, (*made)->leading = leading;
  return OK;
}

int cublasLtMatrixLayoutSetAttribute(Layout* m, int number, const void* value, size_t size) {
  if (number == 5) return set(m->count, value, size);
  if (number == 6) return set(m->apart, value, size);
  return INVALID;
}

int cublasLtMatrixLayoutDestroy(Layout* m) { return end(m); }

int cublasLtMatmulDescCreate(Descriptor** made, int compute, int scale) {
  *made = new Descriptor;
  (*made)->compute = compute, (*made)->scale = scale;
  return OK;
}

int cublasLtMatmulDescSetAttribute(Descriptor* d, int number, const void* value, size_t size) {
  switch (number) {
    case 3: return set(d->turned_a, value, size);
    case 4: return set(d->turned_b, value, size);
    case 7: return set(d->epilogue, value, size);
    case 8: return set(d->bias, value, size);
    case 11: return set(d->aux, value, size);
    case 12: return set(d->aux_leading, value, size);
    case 26: return set(d->bias_type, value, size);
    default: return INVALID;
  }
}

int cublasLtMatmulDescDestroy(Descriptor* d) { return end(d); }

int cublasLtMatmulPreferenceCreate(Preference** made) { return *made = new Preference, OK; }

int cublasLtMatmulPreferenceSetAttribute(Preference* p, int number, const void* value, size_t size) {
  if (number == 1) return set(p->workspace, value, size);
  if (number >= 5 && number <= 8) return set(p->alignment[number - 5], value, size);
  return INVALID;
}

int cublasLtMatmulPreferenceDestroy(Preference* p) { return end(p); }

// Two algorithms: one that needs workspace, where some may be had, and one that needs none.
int cublasLtMatmulAlgoGetHeuristic(void* own, const Descriptor* d, const Layout* a, const Layout* b,
                                   const Layout* c, const Layout* y, const Preference* p, int wanted,
                                   Found* found, int* count) {
  const Problem problem = {d, a, b, c, y};
  *count = 0;
  if (own != &handle) return NOT_INITIALIZED;
  if (p->alive != ALIVE || wanted < 1) return INVALID;
  if (const int status = fits(problem)) return status;
  for (size_t workspace : {(size_t)4096, (size_t)0}) {
    if (workspace > p->workspace || *count == wanted) continue;
    Found& f = found[(*count)++];
    f = Found{};
    f.algorithm.data[0] = hash(problem), f.algorithm.data[5] = f.workspace = workspace;
    for (int i = 0; i < 4; ++i) f.algorithm.data[1 + i] = p->alignment[i];
  }
  return OK;
}

int cublasLtMatmulAlgoCheck(void* own, const Descriptor* d, const Layout* a, const Layout* b, const Layout* c,
                            const Layout* y, const Algorithm* algorithm, Found* found) {
  const Problem problem = {d, a, b, c, y};
  if (own != &handle) return NOT_INITIALIZED;
  if (const int status = fits(problem)) return status;
  if (algorithm->data[0] != hash(problem)) return NOT_SUPPORTED;
  *found = Found{};
  found->workspace = algorithm->data[5];
  return OK;
}

int cublasLtMatmul(void* own, const Descriptor* d, const float* alpha, const void* a, const Layout* at_a,
                   const void* b, const Layout* at_b, const float* beta, const void* c, const Layout* at_c, void* y,
                   const Layout* at_y, const Algorithm* algorithm, void* workspace, size_t size, void* stream) {
  const Problem problem = {d, at_a, at_b, at_c, at_y};
  if (own != &handle) return NOT_INITIALIZED;
  if (const int status = fits(problem)) return status;
  const void* all[] = {a, b, c, y};
  for (int i = 0; i < 4; ++i)
    if (!all[i] || !algorithm->data[1 + i] || (uintptr_t)all[i] % algorithm->data[1 + i]) return INVALID;
  for (const void* beside : {d->bias, d->aux})
    if ((uintptr_t)beside % algorithm->data[4]) return INVALID;
  if (algorithm->data[0] != hash(problem) || algorithm->data[5] > size) return INVALID;
  if ((uintptr_t)workspace % 256 || (size && !workspace) || stream) return INVALID;
  if (c == y && (at_c->leading != at_y->leading || at_c->apart != at_y->apart)) return INVALID;
  if (algorithm->data[5]) std::memset(workspace, 0xff, algorithm->data[5]);
  multiply(problem, *alpha, a, b, *beta, c, y);
  return OK;
}

}  // extern "C"
