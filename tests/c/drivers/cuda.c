/*
 * A fake CUDA driver with the functions that finding and opening a device takes; the others are there and fail.
 * Environment variables set its faults, so that a machine without a GPU can test how the library treats them.
 *
 * FAKE_VERSION  the CUDA version that it supports (default 13000)     FAKE_INIT    what cuInit returns (default 0)
 * FAKE_COUNT    devices (default 2)                                   FAKE_MAJOR   compute capability FAKE_MAJOR.0 (9)
 * FAKE_RETAIN   what opening a device returns (default 0)             FAKE_LOAD    what loading kernels returns (0)
 * FAKE_FREE     KiB of a device that are free (default 5 Gi)          FAKE_BUSY    a device with half of that (none)
 * FAKE_BROKEN   a device that cannot be opened (none)
 * FAKE_LOCK     what page-locking returns (default 0)                 FAKE_UNLOCK  what unlocking returns (0)
 *
 * With -DLACKING it has nothing but its version; with -DcuSomething=other it lacks cuSomething.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int cuDriverGetVersion(int *version);
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int index);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxSetCurrent(void *context);
int cuCtxGetCurrent(void **context);
int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *memory);
int cuGetErrorName(int error, const char **name);
int cuGetErrorString(int error, const char **text);
/* The numbers of starts of the driver, of devices that were opened and closed, and of ranges of memory that were
 * page-locked and are. */
extern int fake_starts, fake_opened, fake_closed, fake_locks, fake_locked;
int fake_starts, fake_opened, fake_closed, fake_locks, fake_locked;

static int number(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text == NULL ? otherwise : atoi(text);
}

int cuDriverGetVersion(int *version) {
    *version = number("FAKE_VERSION", 13000);
    return 0;
}

#ifndef LACKING
enum {
    /* The numbers are those of cuda.h. */
    MULTIPROCESSOR_COUNT = 16,
    COMPUTE_CAPABILITY_MAJOR = 75,
    COMPUTE_CAPABILITY_MINOR = 76,
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};
static int places_of_contexts[8], place_of_a_module;
static void *current_context;

int cuInit(unsigned flags) {
    (void)flags;
    fake_starts++;
    return number("FAKE_INIT", 0);
}

int cuDeviceGetCount(int *count) {
    *count = number("FAKE_COUNT", 2);
    return 0;
}

int cuDeviceGet(int *device, int index) {
    *device = index;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "Fake %d", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)8 << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == COMPUTE_CAPABILITY_MAJOR            ? number("FAKE_MAJOR", 9)
             : attribute == COMPUTE_CAPABILITY_MINOR          ? 0
             : attribute == MULTIPROCESSOR_COUNT              ? 132
             : attribute == MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 << 10
                                                              : 1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    int result = device == number("FAKE_BROKEN", -1) ? 2 : number("FAKE_RETAIN", 0);
    if (result == 0) {
        fake_opened++;
        *context = &places_of_contexts[device];
    }
    return result;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    fake_closed++;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    current_context = context;
    return 0;
}

int cuCtxGetCurrent(void **context) {
    *context = NULL;
    return 0;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    int busy = number("FAKE_BUSY", -1);
    int halves = busy >= 0 && current_context == &places_of_contexts[busy] ? 1 : 2;
    *free_bytes = ((size_t)number("FAKE_FREE", 5 << 20) << 10) / 2 * halves;
    *total_bytes = (size_t)7 << 30;
    return 0;
}

int cuModuleLoadData(void **module, const void *image) {
    (void)image;
    *module = &place_of_a_module;
    return number("FAKE_LOAD", 0);
}

int cuModuleUnload(void *module) {
    (void)module;
    return 0;
}

/* Like a driver: whole pages only, portable, and writable, which it proves. */
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    enum { PORTABLE = 1, INVALID_VALUE = 1, PAGE = 4096 };
    int result = number("FAKE_LOCK", 0);
    if ((size_t)memory % PAGE != 0 || bytes == 0 || bytes % PAGE != 0 || flags != PORTABLE) {
        return INVALID_VALUE;
    }
    if (result == 0) {
        volatile char *last = (char *)memory + bytes - 1;
        *last = *last;
        fake_locks++;
        fake_locked++;
    }
    return result;
}

int cuMemHostUnregister(void *memory) {
    int result = number("FAKE_UNLOCK", 0);
    if (result == 0 && memory != NULL) {
        fake_locked--;
    }
    return result;
}

int cuGetErrorName(int error, const char **name) {
    (void)error;
    *name = "FAKE_ERROR";
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    (void)error;
    *text = "an error that was asked for";
    return 0;
}

/* The library looks for these when it looks for the driver. */
#define FAILS(name)                                                                                                    \
    int name(void);                                                                                                    \
    int name(void) {                                                                                                   \
        enum { NOT_SUPPORTED = 801 };                                                                                  \
        return NOT_SUPPORTED;                                                                                          \
    }
FAILS(cuCtxDestroy_v2)
FAILS(cuCtxSynchronize)
FAILS(cuEventCreate)
FAILS(cuEventDestroy_v2)
FAILS(cuEventElapsedTime)
FAILS(cuEventQuery)
FAILS(cuEventRecord)
FAILS(cuEventSynchronize)
FAILS(cuFuncSetAttribute)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuMemAlloc_v2)
FAILS(cuMemFreeHost)
FAILS(cuMemFree_v2)
FAILS(cuMemGetAddressRange_v2)
FAILS(cuMemHostAlloc)
FAILS(cuMemcpy2DAsync_v2)
FAILS(cuMemcpyDtoHAsync_v2)
FAILS(cuMemcpyHtoDAsync_v2)
FAILS(cuMemsetD8Async)
FAILS(cuModuleGetFunction)
FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
FAILS(cuPointerGetAttribute)
FAILS(cuPointerGetAttributes)
FAILS(cuStreamCreate)
FAILS(cuStreamDestroy_v2)
FAILS(cuStreamSynchronize)
FAILS(cuStreamWaitEvent)
FAILS(cuTexObjectCreate)
FAILS(cuTexObjectDestroy)
#endif
