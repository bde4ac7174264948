/*
 * A fake of the driver's management library (NVML), for the devices of the fake driver (cuda.c). The environment variable
 * FAKE_BUSY is the number of a device of which half is free.
 */
#include <stdlib.h>
#include <string.h>

struct memory {
    unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlDeviceGetHandleByUUID(const char *name, void **device);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
extern int fake_nvml_starts;
int fake_nvml_starts;
static char places_of_devices[2];

int nvmlInit_v2(void) {
    fake_nvml_starts++;
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *name, void **device) {
    for (int i = 0; i < 2; i++) {
        char expected[] = "GPU-00112233-4455-6677-8899-aabbccddee0?";
        expected[strlen(expected) - 1] = (char)('0' + i);
        if (strcmp(name, expected) == 0) {
            *device = &places_of_devices[i];
            return 0;
        }
    }
    return 6; /* NVML_ERROR_NOT_FOUND */
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    const char *busy = getenv("FAKE_BUSY");
    int is_busy = busy != NULL && device == &places_of_devices[1] ? atoi(busy) == 1 : busy != NULL && atoi(busy) == 0;
    memory->total = (unsigned long long)8 << 30;
    memory->free = (unsigned long long)(is_busy ? 2 : 5) << 30;
    memory->used = memory->total - memory->free;
    return 0;
}
