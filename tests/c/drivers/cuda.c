/*
 * A fake CUDA driver, so that a machine without a GPU can test how the library treats the faults of one. It finds and opens
 * devices; the other functions are there and fail, unless FAKE_WORKS is set: then device memory is memory of the host, copies
 * are made at once, and kernels do nothing.
 *
 * fake_fail_at, a variable, is the number of the call, counted from 1, that returns fake_fail_with; all later calls do, too,
 * if fake_fail_on is not 0. Calls that ask for the text of an error or for the version are not counted.
 *
 * Environment variables set other faults:
 * FAKE_VERSION  the CUDA version that it supports (default 13000)     FAKE_INIT    what cuInit returns (default 0)
 * FAKE_COUNT    devices (default 2)                                   FAKE_MAJOR   compute capability FAKE_MAJOR.0 (9)
 * FAKE_RETAIN   what opening a device returns (default 0)             FAKE_LOAD    what loading kernels returns (0)
 * FAKE_FREE     KiB of a device that are free (default 5 Gi)          FAKE_BUSY    a device with half of that (none)
 * FAKE_BROKEN   a device that cannot be opened (none)
 * FAKE_LOCK     what page-locking returns (default 0)                 FAKE_UNLOCK  what unlocking returns (0)
 * FAKE_SLOW     milliseconds that opening and page-locking take (0)
 * FAKE_LATE     milliseconds that telling the version takes (0)
 *
 * With -DLACKING it has nothing but its version; with -DcuSomething=other it lacks cuSomething.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A fake ignores most of its arguments. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int cuDriverGetVersion(int *version);
int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int index);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetUuid_v2(char id[16], int device);
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
/* The numbers of starts of the driver, of devices that were opened and closed, of ranges of memory that were page-locked and
 * are, and of calls that take time. */
extern int fake_starts, fake_opened, fake_closed, fake_locks, fake_locked, fake_slow;
int fake_starts, fake_opened, fake_closed, fake_locks, fake_locked, fake_slow;
/* The numbers of calls, and of blocks of memory, streams, events, modules and textures that are there. */
extern int fake_calls, fake_held;
int fake_calls, fake_held;
extern int fake_fail_at, fake_fail_on, fake_fail_with;
int fake_fail_at, fake_fail_on, fake_fail_with;
/* The function whose call failed first. */
extern const char *fake_failed;
const char *fake_failed;

static int number(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text == NULL ? otherwise : atoi(text);
}

static void wait_for(int milliseconds) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

int cuDriverGetVersion(int *version) {
    const int milliseconds = number("FAKE_LATE", 0);
    if (milliseconds > 0) {
        __atomic_add_fetch(&fake_slow, 1, __ATOMIC_SEQ_CST);
        wait_for(milliseconds);
    }
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
static int places_of_contexts[8], place_of_an_object;
/* Each thread has its own. LeakSanitizer cannot read thread-local variables of libraries that a program loads. */
static pthread_key_t current_key;
static pthread_once_t key_is_made = PTHREAD_ONCE_INIT;

static void make_key(void) {
    pthread_key_create(&current_key, NULL);
}

static void *current_context(void) {
    pthread_once(&key_is_made, make_key);
    return pthread_getspecific(current_key);
}

/* Counts a call, and returns what it has to fail with, or 0. */
static int fault(const char *function) {
    int call = __atomic_add_fetch(&fake_calls, 1, __ATOMIC_SEQ_CST);
    if (fake_fail_at == 0 || (fake_fail_on ? call < fake_fail_at : call != fake_fail_at)) {
        return 0;
    }
    if (call == fake_fail_at) {
        fake_failed = function;
    }
    return fake_fail_with;
}

#define MAY_FAIL()                                                                                                     \
    do {                                                                                                               \
        int failed_with = fault(__func__);                                                                             \
        if (failed_with != 0) {                                                                                        \
            return failed_with;                                                                                        \
        }                                                                                                              \
    } while (0)

static void take_time(void) {
    __atomic_add_fetch(&fake_slow, 1, __ATOMIC_SEQ_CST);
    wait_for(number("FAKE_SLOW", 0));
}

static void hold(int more) {
    __atomic_add_fetch(&fake_held, more, __ATOMIC_SEQ_CST);
}

int cuInit(unsigned flags) {
    MAY_FAIL();
    fake_starts++;
    return number("FAKE_INIT", 0);
}

int cuDeviceGetCount(int *count) {
    MAY_FAIL();
    *count = number("FAKE_COUNT", 2);
    return 0;
}

int cuDeviceGet(int *device, int index) {
    MAY_FAIL();
    *device = index;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
    MAY_FAIL();
    snprintf(name, (size_t)size, "Fake %d", device);
    return 0;
}

int cuDeviceGetUuid_v2(char id[16], int device) {
    MAY_FAIL();
    for (int i = 0; i < 16; i++) {
        id[i] = (char)(i == 15 ? device : 0x11 * i);
    }
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    MAY_FAIL();
    *bytes = (size_t)8 << 30;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    MAY_FAIL();
    *value = attribute == COMPUTE_CAPABILITY_MAJOR            ? number("FAKE_MAJOR", 9)
             : attribute == COMPUTE_CAPABILITY_MINOR          ? 0
             : attribute == MULTIPROCESSOR_COUNT              ? 132
             : attribute == MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 227 << 10
                                                              : 1;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    MAY_FAIL();
    take_time();
    int result = device == number("FAKE_BROKEN", -1) ? 2 : number("FAKE_RETAIN", 0);
    if (result == 0) {
        fake_opened++;
        *context = &places_of_contexts[device];
    }
    return result;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    MAY_FAIL();
    fake_closed++;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    MAY_FAIL();
    pthread_once(&key_is_made, make_key);
    pthread_setspecific(current_key, context);
    return 0;
}

int cuCtxGetCurrent(void **context) {
    MAY_FAIL();
    *context = current_context();
    return 0;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    MAY_FAIL();
    int busy = number("FAKE_BUSY", -1);
    int halves = busy >= 0 && current_context() == &places_of_contexts[busy] ? 1 : 2;
    *free_bytes = ((size_t)number("FAKE_FREE", 5 << 20) << 10) / 2 * halves;
    *total_bytes = (size_t)7 << 30;
    return 0;
}

int cuModuleLoadData(void **module, const void *image) {
    MAY_FAIL();
    int result = number("FAKE_LOAD", 0);
    if (result == 0) {
        *module = &place_of_an_object;
        hold(1);
    }
    return result;
}

int cuModuleUnload(void *module) {
    MAY_FAIL();
    hold(-1);
    return 0;
}

/* Like a driver: whole pages only, portable, and writable, which it proves. */
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    enum { PORTABLE = 1, INVALID_VALUE = 1, PAGE = 4096 };
    MAY_FAIL();
    take_time();
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
    MAY_FAIL();
    int result = number("FAKE_UNLOCK", 0);
    if (result == 0 && memory != NULL) {
        fake_locked--;
    }
    return result;
}

int cuGetErrorName(int error, const char **name) {
    *name = "FAKE_ERROR";
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    *text = "an error that was asked for";
    return 0;
}

/* The following functions work if FAKE_WORKS is set. */
#define WORKS_OR_FAILS()                                                                                               \
    do {                                                                                                               \
        enum { NOT_SUPPORTED = 801 };                                                                                  \
        if (getenv("FAKE_WORKS") == NULL) {                                                                            \
            return NOT_SUPPORTED;                                                                                      \
        }                                                                                                              \
        MAY_FAIL();                                                                                                    \
    } while (0)

/* A function that changes nothing. */
#define NOTHING(name, parameters)                                                                                      \
    int name parameters;                                                                                               \
    int name parameters {                                                                                              \
        WORKS_OR_FAILS();                                                                                              \
        return 0;                                                                                                      \
    }
NOTHING(cuCtxEnablePeerAccess, (void *context, unsigned flags))
NOTHING(cuCtxSynchronize, (void))
NOTHING(cuDeviceCanAccessPeer, (int *can, int device, int peer))
NOTHING(cuEventQuery, (void *event))
NOTHING(cuEventRecord, (void *event, void *stream))
NOTHING(cuEventSynchronize, (void *event))
NOTHING(cuFuncSetAttribute, (void *function, int attribute, int value))
NOTHING(cuMemcpyPeerAsync, (size_t to, void *target, size_t from, void *source, size_t bytes, void *stream))
NOTHING(cuStreamSynchronize, (void *stream))
NOTHING(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))

/* A launch, which fails where the current context is not that of a device. */
#define LAUNCHES(name, parameters)                                                                                     \
    int name parameters;                                                                                               \
    int name parameters {                                                                                              \
        enum { INVALID_CONTEXT = 201 };                                                                                \
        WORKS_OR_FAILS();                                                                                              \
        for (size_t device = 0; device < sizeof places_of_contexts / sizeof *places_of_contexts; device++) {           \
            if (current_context() == &places_of_contexts[device]) {                                                      \
                return 0;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        return INVALID_CONTEXT;                                                                                        \
    }
LAUNCHES(cuLaunchCooperativeKernel, (void))
LAUNCHES(cuLaunchKernel, (void))
LAUNCHES(cuLaunchKernelEx, (const void *config, void *function, void **parameters, void **extra))

/* The functions that make an object, and that end it. */
#define MAKES(name, parameters, place)                                                                                 \
    int name parameters;                                                                                               \
    int name parameters {                                                                                              \
        WORKS_OR_FAILS();                                                                                              \
        *place = (void *)&place_of_an_object;                                                                          \
        hold(1);                                                                                                       \
        return 0;                                                                                                      \
    }
#define ENDS(name)                                                                                                     \
    int name(void *object);                                                                                            \
    int name(void *object) {                                                                                           \
        (void)object;                                                                                                  \
        WORKS_OR_FAILS();                                                                                              \
        hold(-1);                                                                                                      \
        return 0;                                                                                                      \
    }
MAKES(cuEventCreate, (void **event, unsigned flags), event)
MAKES(cuStreamCreate, (void **stream, unsigned flags), stream)
MAKES(cuTexObjectCreate, (void **texture, const void *resource, const void *description, const void *view), texture)
ENDS(cuEventDestroy_v2)
ENDS(cuStreamDestroy_v2)
ENDS(cuTexObjectDestroy)
ENDS(cuCtxDestroy_v2)

int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name) {
    WORKS_OR_FAILS();
    *function = &place_of_an_object;
    return 0;
}

int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    WORKS_OR_FAILS();
    *milliseconds = 1;
    return 0;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t memory, unsigned flags);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t memory, unsigned flags) {
    WORKS_OR_FAILS();
    *blocks = 2;
    return 0;
}

/* Blocks of memory, of the device and page-locked. */
enum { MOST_BLOCKS = 1024 };
static struct {
    char *start;
    size_t bytes;
    int on_device;
} blocks[MOST_BLOCKS];
static int blocks_are_used;

static void lock_blocks(void) {
    while (__atomic_exchange_n(&blocks_are_used, 1, __ATOMIC_ACQUIRE)) {
    }
}

static void unlock_blocks(void) {
    __atomic_store_n(&blocks_are_used, 0, __ATOMIC_RELEASE);
}

/* The index of the block that contains an address, or -1. */
static int block_of(const char *address) {
    for (int i = 0; i < MOST_BLOCKS; i++) {
        if (blocks[i].start != NULL && address >= blocks[i].start && address < blocks[i].start + blocks[i].bytes) {
            return i;
        }
    }
    return -1;
}

/* Memory is zero at first: kernels that do nothing leave counts of 0. */
static int allocate_block(void **memory, size_t bytes, int on_device) {
    enum { OUT_OF_MEMORY = 2 };
    char *start = calloc(bytes, 1);
    int index = 0;
    lock_blocks();
    while (index < MOST_BLOCKS && blocks[index].start != NULL) {
        index++;
    }
    if (start != NULL && index < MOST_BLOCKS) {
        blocks[index].start = *memory = start;
        blocks[index].bytes = bytes;
        blocks[index].on_device = on_device;
    }
    unlock_blocks();
    if (start == NULL || index == MOST_BLOCKS) {
        free(start);
        return OUT_OF_MEMORY;
    }
    hold(1);
    return 0;
}

static int free_block(void *memory) {
    enum { INVALID_VALUE = 1 };
    lock_blocks();
    int index = block_of(memory), is_start = index >= 0 && blocks[index].start == (char *)memory;
    if (is_start) {
        blocks[index].start = NULL;
    }
    unlock_blocks();
    if (!is_start) {
        return INVALID_VALUE;
    }
    free(memory);
    hold(-1);
    return 0;
}

/* Frees what was not given back, because that failed. */
void fake_forget(void);
void fake_forget(void) {
    for (int i = 0; i < MOST_BLOCKS; i++) {
        free(blocks[i].start);
        blocks[i].start = NULL;
    }
    fake_held = fake_opened = fake_closed = 0;
}

int cuMemAlloc_v2(void **memory, size_t bytes);
int cuMemAlloc_v2(void **memory, size_t bytes) {
    WORKS_OR_FAILS();
    return allocate_block(memory, bytes, 1);
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    WORKS_OR_FAILS();
    return allocate_block(memory, bytes, 0);
}

int cuMemFree_v2(void *memory);
int cuMemFree_v2(void *memory) {
    WORKS_OR_FAILS();
    return free_block(memory);
}

int cuMemFreeHost(void *memory);
int cuMemFreeHost(void *memory) {
    WORKS_OR_FAILS();
    return free_block(memory);
}

int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
    WORKS_OR_FAILS();
    memcpy(to, from, bytes);
    return 0;
}

int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream);
int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
    WORKS_OR_FAILS();
    memcpy(to, from, bytes);
    return 0;
}

int cuMemsetD8Async(void *memory, unsigned char value, size_t bytes, void *stream);
int cuMemsetD8Async(void *memory, unsigned char value, size_t bytes, void *stream) {
    WORKS_OR_FAILS();
    memset(memory, value, bytes);
    return 0;
}

/* One side of a copy of rows, as in cuda.h. */
typedef struct {
    size_t x, y;
    int kind;
    char *host, *device;
    void *array;
    size_t pitch;
} copied_side;

typedef struct {
    copied_side from, to;
    size_t width, height;
} copied_rows;

static char *row_of(const copied_side *side, size_t row) {
    enum { HOST = 1 };
    return (side->kind == HOST ? side->host : side->device) + (side->y + row) * side->pitch + side->x;
}

int cuMemcpy2DAsync_v2(const copied_rows *rows, void *stream);
int cuMemcpy2DAsync_v2(const copied_rows *rows, void *stream) {
    WORKS_OR_FAILS();
    for (size_t row = 0; row < rows->height; row++) {
        memcpy(row_of(&rows->to, row), row_of(&rows->from, row), rows->width);
    }
    return 0;
}

/* An attribute of an address that the driver knows: the kind of its memory, or its device. */
static int attribute_of(const char *address, int attribute, int *value) {
    enum { INVALID_VALUE = 1, MEMORY_TYPE = 2, DEVICE_ORDINAL = 9, HOST = 1, DEVICE = 2 };
    lock_blocks();
    int index = block_of(address), on_device = index >= 0 && blocks[index].on_device;
    unlock_blocks();
    if (index < 0) {
        return INVALID_VALUE;
    }
    *value = attribute == MEMORY_TYPE ? (on_device ? DEVICE : HOST) : 0;
    return 0;
}

int cuPointerGetAttribute(int *value, int attribute, void *address);
int cuPointerGetAttribute(int *value, int attribute, void *address) {
    WORKS_OR_FAILS();
    return attribute_of(address, attribute, value);
}

/* 0 for memory that the driver does not know. */
int cuPointerGetAttributes(unsigned count, int *attributes, int **values, void *address);
int cuPointerGetAttributes(unsigned count, int *attributes, int **values, void *address) {
    WORKS_OR_FAILS();
    for (unsigned i = 0; i < count; i++) {
        *values[i] = 0;
        attribute_of(address, attributes[i], values[i]);
    }
    return 0;
}

int cuMemGetAddressRange_v2(void **base, size_t *bytes, void *address);
int cuMemGetAddressRange_v2(void **base, size_t *bytes, void *address) {
    enum { INVALID_VALUE = 1 };
    WORKS_OR_FAILS();
    lock_blocks();
    int index = block_of(address);
    if (index >= 0) {
        *base = blocks[index].start;
        *bytes = blocks[index].bytes;
    }
    unlock_blocks();
    return index < 0 ? INVALID_VALUE : 0;
}
#endif
