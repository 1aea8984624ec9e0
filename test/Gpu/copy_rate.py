"""GB/s that a copy in a GPU's memory reads and writes; prints one number. Calls NVIDIA's
driver by itself, so that nothing has to be installed."""

import ctypes
import time

BYTES, COPIES = 1 << 30, 20


def main():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        status = getattr(cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name} has failed with {status}")

    device, context = ctypes.c_int(), ctypes.c_void_p()
    places = [ctypes.c_uint64(), ctypes.c_uint64()]
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    for place in places:
        call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(BYTES))

    def copy(times):
        for _ in range(times):
            call("cuMemcpyDtoDAsync_v2", places[1], places[0], ctypes.c_size_t(BYTES),
                 None)
        call("cuCtxSynchronize")

    copy(3)
    begin = time.perf_counter()
    copy(COPIES)
    print(2 * BYTES * COPIES / (time.perf_counter() - begin) / 1e9)


main()
