/* A libcuda.so.1 without a device: enough of the driver for cuDNN to make plans with.

   What would need a device fails with CUDA_ERROR_NO_DEVICE; what only holds compiled code succeeds,
   with a handle that nobody looks into. */
#include <stddef.h>

enum { NO_DEVICE = 100 };

#define FAILS(name) int name(void) { return NO_DEVICE; }
#define DOES_NOTHING(name) int name(void) { return 0; }
#define GIVES_HANDLE(name) \
  int name(void** handle) { \
    if (handle) *handle = (void*)0x1000; \
    return 0; \
  }

FAILS(cuInit)
FAILS(cuDeviceGetCount)
FAILS(cuGetErrorName)
FAILS(cuGetErrorString)
FAILS(cuGetProcAddress)
FAILS(cuGetProcAddress_v2)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLinkAddData)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkDestroy)

DOES_NOTHING(cuCtxPushCurrent)
DOES_NOTHING(cuKernelSetAttribute)
DOES_NOTHING(cuLibraryUnload)
DOES_NOTHING(cuModuleUnload)
DOES_NOTHING(cuTensorMapEncodeIm2col)
DOES_NOTHING(cuTensorMapEncodeTiled)

GIVES_HANDLE(cuCtxGetCurrent)
GIVES_HANDLE(cuCtxPopCurrent)
GIVES_HANDLE(cuKernelGetFunction)
GIVES_HANDLE(cuLibraryGetKernel)
GIVES_HANDLE(cuLibraryLoadData)
GIVES_HANDLE(cuLibraryLoadFromFile)
GIVES_HANDLE(cuModuleGetFunction)
GIVES_HANDLE(cuModuleLoadData)
GIVES_HANDLE(cuStreamGetCtx)

static int give(int* place, int value) {
  if (place) *place = value;
  return 0;
}

int cuDeviceGet(int* device, int ordinal) { return give(device, ordinal); }
int cuDriverGetVersion(int* version) { return give(version, 13000); }
int cuKernelGetAttribute(int* value) { return give(value, 0); }
int cuOccupancyMaxPotentialClusterSize(int* clusters) { return give(clusters, 8); }

int cuCtxGetLimit(size_t* value) {
  if (value) *value = 1024;
  return 0;
}
