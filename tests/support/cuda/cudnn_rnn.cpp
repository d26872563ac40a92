// A double of libcudnn's RNN functions for LSTMs and GRUs, under the same names and with the same
// arguments, on memory of the host. What may be wrong is refused. It stands behind numbers.h.
//
// Its row of weights has gaps, so that whoever packs it must ask where each block lies.

namespace {

enum Status { OK = 0, BAD = 2000, UNSUPPORTED = 3000 };
enum { LSTM = 2, GRU = 3, GAP = 8 };
const uint64_t ALIVE = 0x6c61697665, FORWARD = 1, DATA = 2;

struct Rnn {
  uint64_t alive = ALIVE;
  int mode = 0, type = 0;
  int64_t features = 0, units = 0, layers = 0;
  int gates() const { return mode == LSTM ? 4 : 3; }
  int64_t width(int layer) const { return layer ? units : features; }
  // in numbers: matrices of x, of h, their biases, each behind a gap
  int64_t start(int layer) const { return layer ? bias(layer - 1, mode == LSTM ? 4 : 6) + GAP : 0; }
  int64_t of_x(int layer, int gate) const { return start(layer) + GAP + gate * units * width(layer); }
  int64_t of_h(int layer, int gate) const { return of_x(layer, gates()) + GAP + gate * units * units; }
  int64_t bias(int layer, int number) const { return of_h(layer, gates()) + GAP + number * units; }
  int64_t all() const { return start(layers); }
};

struct Data {
  uint64_t alive = ALIVE;
  int type = 0;
  int64_t steps = 0, n = 0, width = 0;
};

struct Tensor {
  uint64_t alive = ALIVE;
  int type = 0;
  int dims[3] = {}, strides[3] = {};
};

int code(int type) { return type == 9 ? BRAIN : type; }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What was destroyed stays in memory, so that whoever uses it still is refused.
template <class T>
int end(T* made) {
  if (!made || made->alive != ALIVE) return BAD;
  made->alive = 0;
  return OK;
}

// What the forward pass leaves: for each layer, step, sequence and unit six numbers of its gates, in
// whose places their gradients come, and its output.
struct Reserve {
  uint64_t stage, hash;
  double at[1];
};

struct Problem {
  const Rnn* rnn;
  const Data *x, *y;
  const Tensor* state;
  size_t weights, work_size, reserve_size;
  void *work, *reserve;

  int64_t places() const { return rnn->layers * x->steps * x->n * rnn->units; }
  size_t wanted_reserve() const { return sizeof(Reserve) + places() * 10 * sizeof(double); }
  size_t wanted_work() const { return 256 + x->n * rnn->units; }
  uint64_t hash() const {
    return ((x->steps * 131 + x->n) * 131 + x->width) * 131 + rnn->units * 7 + rnn->mode + rnn->type + 31 * rnn->layers;
  }
  double* kept(int64_t layer, int64_t t, int64_t n, int64_t u) const {
    return ((Reserve*)reserve)->at + (((layer * x->steps + t) * x->n + n) * rnn->units + u) * 10;
  }

  int check(bool training) const {
    if (rnn->alive != ALIVE || x->alive != ALIVE || y->alive != ALIVE || state->alive != ALIVE) return BAD;
    if (x->type != rnn->type || y->type != rnn->type || state->type != rnn->type) return BAD;
    if (x->width != rnn->features || y->width != rnn->units || x->n != y->n || x->steps != y->steps) return BAD;
    const int dims[] = {(int)rnn->layers, (int)x->n, (int)rnn->units};
    const int strides[] = {(int)(x->n * rnn->units), (int)rnn->units, 1};
    if (std::memcmp(dims, state->dims, 12) || std::memcmp(strides, state->strides, 12)) return BAD;
    if (weights != (size_t)(rnn->all() * bytes(rnn->type))) return BAD;
    if (work_size < wanted_work() || !work || (uintptr_t)work % 16) return BAD;
    if (training != (reserve != nullptr)) return BAD;
    if (training && (reserve_size < wanted_reserve() || (uintptr_t)reserve % 16)) return BAD;
    std::memset(work, 0xff, wanted_work());
    return OK;
  }
};

struct Weights {
  const Rnn* r;
  const void* at;
  int l;
  double x(int gate, int64_t u, int64_t f) const { return get(at, r->type, r->of_x(l, gate) + u * r->width(l) + f); }
  double h(int gate, int64_t u, int64_t v) const { return get(at, r->type, r->of_h(l, gate) + u * r->units + v); }
  double b(int number, int64_t u) const { return get(at, r->type, r->bias(l, number) + u); }
};

std::vector<double> numbers(const void* at, int type, int64_t count) {
  std::vector<double> all(count);
  for (int64_t i = 0; i < count; ++i) all[i] = get(at, type, i);
  return all;
}

int handle;

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 92800; }

const char* cudnnGetErrorString(int status) {
  if (status == 4004) return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
  return status == OK ? "CUDNN_STATUS_SUCCESS" : status == BAD ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}

int cudnnCreate(void** made) { return *made = &handle, OK; }
int cudnnSetStream(void* own, void* stream) { return own == &handle && !stream ? OK : BAD; }

int cudnnCreateTensorDescriptor(Tensor** made) { return *made = new Tensor, OK; }
int cudnnDestroyTensorDescriptor(Tensor* t) { return end(t); }
int cudnnSetTensorNdDescriptor(Tensor* t, int type, int count, const int* dims, const int* strides) {
  if (!t || count != 3) return BAD;
  t->type = code(type);
  std::memcpy(t->dims, dims, 12), std::memcpy(t->strides, strides, 12);
  return OK;
}

int cudnnCreateRNNDataDescriptor(Data** made) { return *made = new Data, OK; }
int cudnnDestroyRNNDataDescriptor(Data* d) { return end(d); }
int cudnnSetRNNDataDescriptor(Data* d, int type, int layout, int steps, int n, int width, const int* lengths,
                              void* fill) {
  if (!d || layout != 2 || steps < 1 || n < 1 || width < 1 || fill) return BAD;
  for (int i = 0; i < n; ++i)
    if (lengths[i] != steps) return UNSUPPORTED;
  d->type = code(type), d->steps = steps, d->n = n, d->width = width;
  return OK;
}

int cudnnCreateRNNDescriptor(Rnn** made) { return *made = new Rnn, OK; }
int cudnnDestroyRNNDescriptor(Rnn* r) { return end(r); }
int cudnnSetRNNDescriptor_v8(Rnn* r, int algorithm, int mode, int bias, int direction, int input, int type,
                             int precision, int math, int32_t features, int32_t units, int32_t projected,
                             int32_t layers, void* dropout, uint32_t flags) {
  if (!r || algorithm || direction || input || layers < 1 || dropout || flags != 1) return BAD;
  if (features < 1 || units < 1 || projected != units || precision != 0) return BAD;
  if (mode == LSTM ? bias != 1 : mode == GRU ? bias != 2 : true) return UNSUPPORTED;
  if (type == 0 ? math == 1 : math != 1) return UNSUPPORTED;
  r->mode = mode, r->type = code(type), r->features = features, r->units = units, r->layers = layers;
  return OK;
}

int cudnnGetRNNWeightSpaceSize(void* own, const Rnn* r, size_t* size) {
  if (own != &handle) return BAD;
  return *size = r->all() * bytes(r->type), OK;
}

int cudnnGetRNNTempSpaceSizes(void* own, const Rnn* r, int mode, const Data* x, size_t* work, size_t* reserve) {
  if (own != &handle || x->type != r->type) return BAD;
  const Problem p = {r, x};
  *work = p.wanted_work(), *reserve = mode ? p.wanted_reserve() : 0;
  return OK;
}

int cudnnGetRNNWeightParams(void* own, const Rnn* r, int32_t layer, size_t size, const void* weights, int32_t number,
                            Tensor* of_matrix, void** matrix, Tensor* of_bias, void** bias) {
  const int gates = r->gates(), gate = number % gates;
  if (own != &handle || layer < 0 || layer >= r->layers || number < 0 || number >= 2 * gates || !of_matrix || !of_bias) return BAD;
  if (r->alive != ALIVE || of_matrix->alive != ALIVE || of_bias->alive != ALIVE) return BAD;
  if (size != (size_t)(r->all() * bytes(r->type))) return BAD;
  const bool recurrent = number >= gates;
  char* start = (char*)weights;
  *matrix = start + (recurrent ? r->of_h(layer, gate) : r->of_x(layer, gate)) * bytes(r->type);
  *bias = recurrent && r->mode == LSTM ? nullptr : start + r->bias(layer, number) * bytes(r->type);
  return OK;
}

int cudnnRNNForward(void* own, const Rnn* r, int mode, const int32_t* lengths, const Data* at_x, const void* x,
                    const Data* at_y, void* y, const Tensor* at_h, const void* hx, void* hy, const Tensor* at_c,
                    const void* cx, void* cy, size_t weights, const void* w, size_t work_size, void* work,
                    size_t reserve_size, void* reserve) {
  const Problem p = {r, at_x, at_y, at_h, weights, work_size, reserve_size, work, reserve};
  if (own != &handle || lengths || at_c->alive != ALIVE || !!cx != (r->mode == LSTM) || !!cy != !!cx) return BAD;
  if (const int status = p.check(mode == 1)) return status;
  const int64_t N = at_x->n, T = at_x->steps, H = r->units;
  std::vector<double> in = numbers(x, r->type, N * T * r->features), out(N * T * H), h(H), c(H), next(H);
  for (int l = 0; l < r->layers; ++l, in = out) {
    const int64_t F = r->width(l);
    const Weights all = {r, w, l};
    for (int64_t n = 0; n < N; ++n) {
      const int64_t state = (l * N + n) * H;
      for (int64_t u = 0; u < H; ++u)
        h[u] = get(hx, r->type, state + u), c[u] = cx ? get(cx, r->type, state + u) : 0;
      for (int64_t t = 0; t < T; ++t) {
        for (int64_t u = 0; u < H; ++u) {
          double z[4] = {}, s[4] = {};
          for (int g = 0; g < r->gates(); ++g) {
            z[g] = all.b(g, u), s[g] = r->mode == GRU ? all.b(3 + g, u) : 0;
            for (int64_t f = 0; f < F; ++f) z[g] += all.x(g, u, f) * in[(n * T + t) * F + f];
            for (int64_t v = 0; v < H; ++v) s[g] += all.h(g, u, v) * h[v];
          }
          double kept[10] = {};
          if (r->mode == LSTM) {
            kept[0] = sigmoid(z[0] + s[0]), kept[1] = sigmoid(z[1] + s[1]);
            kept[2] = std::tanh(z[2] + s[2]), kept[3] = sigmoid(z[3] + s[3]), kept[5] = c[u];
            c[u] = kept[4] = kept[1] * c[u] + kept[0] * kept[2];
            next[u] = kept[3] * std::tanh(c[u]);
          } else {
            kept[0] = sigmoid(z[0] + s[0]), kept[1] = sigmoid(z[1] + s[1]), kept[3] = s[2];
            kept[2] = std::tanh(z[2] + kept[0] * s[2]), kept[5] = h[u];
            next[u] = (1 - kept[1]) * kept[2] + kept[1] * h[u];
          }
          kept[8] = out[(n * T + t) * H + u] = next[u];
          if (mode) std::memcpy(p.kept(l, t, n, u), kept, sizeof kept);
        }
        h = next;
      }
      for (int64_t u = 0; u < H; ++u) {
        put(hy, r->type, state + u, h[u]);
        if (cy) put(cy, r->type, state + u, c[u]);
      }
    }
  }
  for (int64_t i = 0; i < N * T * H; ++i) put(y, r->type, i, out[i]);
  if (mode) ((Reserve*)reserve)->stage = FORWARD, ((Reserve*)reserve)->hash = p.hash();
  return OK;
}

// Leaves the gradients of each gate's sums in the places of the gates: of x's part, then of h's.
int cudnnRNNBackwardData_v8(void* own, const Rnn* r, const int32_t* lengths, const Data* at_y, const void* y,
                            const void* gy, const Data* at_x, void* gx, const Tensor* at_h, const void* hx,
                            const void* ghy, void* ghx, const Tensor* at_c, const void* cx, const void* gcy,
                            void* gcx, size_t weights, const void* w, size_t work_size, void* work,
                            size_t reserve_size, void* reserve) {
  const Problem p = {r, at_x, at_y, at_h, weights, work_size, reserve_size, work, reserve};
  if (own != &handle || lengths || !y || !hx || at_c->alive != ALIVE) return BAD;
  if (!!cx != (r->mode == LSTM) || !!gcy != !!cx || !!gcx != !!cx) return BAD;
  if (const int status = p.check(true)) return status;
  Reserve& left = *(Reserve*)reserve;
  if (left.stage != FORWARD || left.hash != p.hash()) return BAD;
  left.stage = DATA;
  const int64_t N = at_x->n, T = at_x->steps, H = r->units;
  std::vector<double> from = numbers(gy, r->type, N * T * H), to, gh(H), gc(H), before(H);
  for (int l = r->layers - 1; l >= 0; --l, from = to) {
    const int64_t F = r->width(l);
    const Weights all = {r, w, l};
    to.assign(N * T * F, 0);
    for (int64_t n = 0; n < N; ++n) {
      const int64_t state = (l * N + n) * H;
      for (int64_t u = 0; u < H; ++u)
        gh[u] = get(ghy, r->type, state + u), gc[u] = gcy ? get(gcy, r->type, state + u) : 0;
      for (int64_t t = T - 1; t >= 0; --t) {
        for (int64_t u = 0; u < H; ++u) {
          double *k = p.kept(l, t, n, u), z[4] = {}, s[4] = {};
          const double g = gh[u] + from[(n * T + t) * H + u];
          before[u] = 0;
          if (r->mode == LSTM) {
            const double a = std::tanh(k[4]), c = gc[u] + g * k[3] * (1 - a * a);
            z[0] = c * k[2] * k[0] * (1 - k[0]), z[1] = c * k[5] * k[1] * (1 - k[1]);
            z[2] = c * k[0] * (1 - k[2] * k[2]), z[3] = g * a * k[3] * (1 - k[3]);
            std::memcpy(s, z, sizeof z);
            gc[u] = c * k[1];
          } else {
            const double o = g * (1 - k[1]) * (1 - k[2] * k[2]);
            z[0] = o * k[3] * k[0] * (1 - k[0]), z[1] = g * (k[5] - k[2]) * k[1] * (1 - k[1]), z[2] = o;
            s[0] = z[0], s[1] = z[1], s[2] = o * k[0];
            before[u] = g * k[1];
          }
          std::memcpy(k, z, sizeof z), std::memcpy(k + 4, s, sizeof s);
        }
        for (int64_t u = 0; u < H; ++u)
          for (int g = 0; g < r->gates(); ++g) {
            const double* k = p.kept(l, t, n, u);
            for (int64_t f = 0; f < F; ++f) to[(n * T + t) * F + f] += k[g] * all.x(g, u, f);
            for (int64_t v = 0; v < H; ++v) before[v] += k[4 + g] * all.h(g, u, v);
          }
        gh = before;
      }
      for (int64_t u = 0; u < H; ++u) {
        put(ghx, r->type, state + u, gh[u]);
        if (gcx) put(gcx, r->type, state + u, gc[u]);
      }
    }
  }
  for (int64_t i = 0; i < N * T * r->features; ++i) put(gx, r->type, i, from[i]);
  return OK;
}

int cudnnRNNBackwardWeights_v8(void* own, const Rnn* r, int mode, const int32_t* lengths, const Data* at_x,
                               const void* x, const Tensor* at_h, const void* hx, const Data* at_y, const void* y,
                               size_t weights, void* gw, size_t work_size, void* work, size_t reserve_size,
                               void* reserve) {
  const Problem p = {r, at_x, at_y, at_h, weights, work_size, reserve_size, work, reserve};
  if (own != &handle || lengths || mode) return BAD;
  if (const int status = p.check(true)) return status;
  Reserve& left = *(Reserve*)reserve;
  if (left.stage != DATA || left.hash != p.hash()) return BAD;
  left.stage = 0;
  const int64_t N = at_x->n, T = at_x->steps, H = r->units;
  std::vector<double> sums(r->all());
  for (int l = 0; l < r->layers; ++l) {
    const int64_t F = r->width(l);
    for (int64_t n = 0; n < N; ++n)
      for (int64_t t = 0; t < T; ++t)
        for (int64_t u = 0; u < H; ++u)
          for (int g = 0; g < r->gates(); ++g) {
            const double z = p.kept(l, t, n, u)[g], s = p.kept(l, t, n, u)[4 + g];
            for (int64_t f = 0; f < F; ++f)
              sums[r->of_x(l, g) + u * F + f] +=
                  z * (l ? p.kept(l - 1, t, n, f)[8] : get(x, r->type, (n * T + t) * F + f));
            for (int64_t v = 0; v < H; ++v)
              sums[r->of_h(l, g) + u * H + v] +=
                  s * (t ? p.kept(l, t - 1, n, v)[8] : get(hx, r->type, (l * N + n) * H + v));
            sums[r->bias(l, g) + u] += z;
            if (r->mode == GRU) sums[r->bias(l, 3 + g) + u] += s;
          }
  }
  for (int64_t i = 0; i < r->all(); ++i) put(gw, r->type, i, get(gw, r->type, i) + sums[i]);
  return OK;
}

}  // extern "C"
