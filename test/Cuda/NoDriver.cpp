// A driver of no GPU: what cuDNN looks up when it compiles a plan for a GPU that is not
// there. Nothing of it does anything.
extern "C" {
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}
#define NOTHING(name)                                                                  \
  int name() { return 3; }
NOTHING(cuCtxGetCurrent)
NOTHING(cuCtxGetLimit)
NOTHING(cuCtxPopCurrent)
NOTHING(cuCtxPushCurrent)
NOTHING(cuDeviceGet)
NOTHING(cuDeviceGetCount)
NOTHING(cuGetErrorName)
NOTHING(cuGetErrorString)
NOTHING(cuInit)
NOTHING(cuKernelGetAttribute)
NOTHING(cuKernelSetAttribute)
NOTHING(cuLaunchCooperativeKernel)
NOTHING(cuLaunchKernel)
NOTHING(cuLaunchKernelEx)
NOTHING(cuLibraryGetKernel)
NOTHING(cuLibraryLoadData)
NOTHING(cuLibraryLoadFromFile)
NOTHING(cuLibraryUnload)
NOTHING(cuLinkAddData)
NOTHING(cuLinkComplete)
NOTHING(cuLinkCreate)
NOTHING(cuLinkDestroy)
NOTHING(cuOccupancyMaxPotentialClusterSize)
NOTHING(cuStreamGetCtx)
}
