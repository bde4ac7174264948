/* Loads a fake CUDA driver (drivers/cuda.c) instead of one that the machine may have. */
#ifndef ISOLINE_TESTS_FAKE_DRIVER_H
#define ISOLINE_TESTS_FAKE_DRIVER_H

#include "check.h"

#include <dlfcn.h>
#include <limits.h>

/* The names that the library looks for first. */
#ifdef _WIN32
#define DRIVER "cuda.dll"
#define NVML "nvml.dll"
#else
#define DRIVER "libcuda.so"
#define NVML "libnvidia-ml.so.1"
#endif

/* The variables of the fake, without the prefix that they have there. */
static struct {
    int *starts, *opened, *closed, *locks, *locked, *slow, *calls, *held, *fail_at, *fail_on, *fail_with;
    const char **failed;
    void (*forget)(void);
    int (*set_current)(void *);
    int (*get_current)(void **);
} fake;

static inline void *variable_of(void *driver, const char *name) {
    void *place = dlsym(driver, name);
    check_that(place != NULL, __FILE__, __LINE__, "the fake driver has no %s", name);
    return place;
}

/* Loads a fake under the name that the library looks for first, so that it finds this one. NULL if that failed. */
static inline void *with_library(const char *folder, const char *name) {
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    if (!CHECK(length > 0)) {
        return NULL;
    }
    path[length] = '\0';
    snprintf(strrchr(path, '/'), 64, "/drivers/%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    check_that(library != NULL, __FILE__, __LINE__, "the fake %s cannot be loaded: %s", name, dlerror());
    return library;
}

/* Loads the fake driver of a folder. 0 if that failed. */
static inline int with_driver(const char *name) {
    void *driver = with_library(name, DRIVER);
    if (driver == NULL) {
        return 0;
    }
    fake.starts = (int *)variable_of(driver, "fake_starts");
    fake.opened = (int *)variable_of(driver, "fake_opened");
    fake.closed = (int *)variable_of(driver, "fake_closed");
    fake.locks = (int *)variable_of(driver, "fake_locks");
    fake.locked = (int *)variable_of(driver, "fake_locked");
    fake.slow = (int *)variable_of(driver, "fake_slow");
    fake.calls = (int *)variable_of(driver, "fake_calls");
    fake.held = (int *)variable_of(driver, "fake_held");
    fake.fail_at = (int *)variable_of(driver, "fake_fail_at");
    fake.fail_on = (int *)variable_of(driver, "fake_fail_on");
    fake.fail_with = (int *)variable_of(driver, "fake_fail_with");
    fake.failed = (const char **)variable_of(driver, "fake_failed");
    /* The two sides have no common type in C. */
    *(void **)&fake.forget = dlsym(driver, "fake_forget");
    *(void **)&fake.set_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&fake.get_current = dlsym(driver, "cuCtxGetCurrent");
    return checks_failed == 0;
}

static isoline_device told(size_t index) {
    isoline_device entry;
    GOOD(isoline_device_init(&entry, sizeof entry));
    GOOD(isoline_device_info(index, &entry));
    return entry;
}

/* The build that tests drivers must have kernels, or it never loads a driver. */
static void probe_build(const char *device) {
    (void)device;
    for (size_t index = 1; index < isoline_device_count(); index++) {
        isoline_device entry = told(index);
        if (strstr(entry.reason, "built without CUDA") != NULL) {
            printf("  no tests of drivers: %s\n", entry.reason);
            test_skipped = 1;
        }
    }
}

/* Reports a skipped test, the only one then, and returns 1 for a build without CUDA. */
static int is_built_without_cuda(void) {
    if (in_child(probe_build, "fake") != EXIT_SKIPPED) {
        return 0;
    }
    run_test("probe_build", probe_build, "fake");
    return 1;
}

#endif
