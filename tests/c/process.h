/* The properties of its own process that a test reads from the system: memory, threads, open files. */
#ifndef ISOLINE_TESTS_PROCESS_H
#define ISOLINE_TESTS_PROCESS_H

#include "check.h"

#include <dirent.h>
#include <malloc.h>

#ifdef _WIN32

static inline long resident_bytes(void) {
    PROCESS_MEMORY_COUNTERS memory;
    GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
    return (long)memory.WorkingSetSize;
}

/* The heap is not measured here; a leak shows in the resident memory. */
static inline long heap_bytes(void) {
    return 0;
}

static inline long thread_count(void) {
    long count = 0;
    THREADENTRY32 thread;
    HANDLE all = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
    thread.dwSize = sizeof thread;
    for (BOOL more = Thread32First(all, &thread); more; more = Thread32Next(all, &thread)) {
        count += thread.th32OwnerProcessID == GetCurrentProcessId();
    }
    CloseHandle(all);
    return count;
}

static inline int open_files(void) {
    DWORD count = 0;
    GetProcessHandleCount(GetCurrentProcess(), &count);
    return (int)count;
}

/* A process cannot limit its own memory here. */
static inline long address_space_kb(void) {
    return 0;
}

#else

/* Resident memory in bytes. */
static inline long resident_bytes(void) {
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2) {
        printf("       /proc/self/statm cannot be read\n");
        exit(1);
    }
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

/* Bytes that are allocated and not freed, in all of this process. */
static inline long heap_bytes(void) {
    struct mallinfo2 heap = mallinfo2();
    return (long)(heap.uordblks + heap.hblkhd);
}

/* A number of /proc/self/status, such as "Threads:" or (in kB) "VmSize:". */
static inline long status_number(const char *key) {
    char line[256];
    long number = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            number = strtol(line + strlen(key), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return number;
}

static inline long thread_count(void) {
    return status_number("Threads:");
}

static inline long address_space_kb(void) {
    return status_number("VmSize:");
}

static inline int open_files(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

#endif

static inline void sleep_ms(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Threads end a moment after they are asked to. */
static inline long threads_settled_to(long wanted) {
    for (int waited = 0; waited < 3000 && thread_count() > wanted; waited += 10) {
        sleep_ms(10);
    }
    return thread_count();
}

/* Limits the memory of this process to `more` bytes beyond those that are mapped now. */
static inline void allow_only(size_t more) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)address_space_kb() * 1024 + more;
    setrlimit(RLIMIT_AS, &limit);
}

/*
 * `work` runs `warm` times, then `times` times; heap, memory, threads and files must not grow over the latter.
 * Memory that malloc keeps in the cache of a thread counts as allocated. With 16 threads these caches fill up over thousands
 * of rounds, so a batch that grew gets another chance: a leak grows in every batch.
 */
static inline void must_not_grow(void (*work)(void *), void *user, int warm, int times) {
    enum { BATCHES = 30 };
    /* The smallest thing that can leak takes 32 bytes of the heap; what the heap does not know of (threads' stacks,
     * mappings) comes in pages, of which the heap itself may touch a few more. The CUDA driver itself loses some 100
     * bytes each time it starts a GPU. */
    const long heap_noise = 4096 + 16 * (long)times, resident_noise = 4 * 4096 + 512 * (long)times;
    long heap_grown = 0, resident_grown = 0;
    for (int i = 0; i < warm && checks_failed == 0; i++) {
        work(user);
    }
    sleep_ms(100);
    long threads = thread_count();
    int files = open_files();
    for (int batch = 0; batch < BATCHES; batch++) {
        long resident = resident_bytes(), heap = heap_bytes();
        for (int i = 0; i < times && checks_failed == 0; i++) {
            work(user);
        }
        long threads_after = threads_settled_to(threads);
        heap_grown = heap_bytes() - heap;
        resident_grown = resident_bytes() - resident;
        if (!check_that(threads_after <= threads, __FILE__, __LINE__, "%d rounds: threads grew from %ld to %ld", times,
                        threads, threads_after) ||
            !check_that(open_files() <= files, __FILE__, __LINE__, "%d rounds: open files grew from %d to %d", times,
                        files, open_files()) ||
            slow() || (heap_grown <= heap_noise && resident_grown <= resident_noise)) {
            return;
        }
    }
    check_that(0, __FILE__, __LINE__, "%d rounds: the heap grew by %ld bytes, memory by %ld", times, heap_grown,
               resident_grown);
}

#endif
