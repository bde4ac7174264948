/* What a test asks the system about its own process: memory, threads, open files. */
#ifndef ISOLINE_TESTS_PROCESS_H
#define ISOLINE_TESTS_PROCESS_H

#include "check.h"

#include <dirent.h>

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

static inline void sleep_ms(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Threads end a moment after they are told to. */
static inline long threads_settled_to(long wanted) {
    for (int waited = 0; waited < 3000 && status_number("Threads:") > wanted; waited += 10) {
        sleep_ms(10);
    }
    return status_number("Threads:");
}

/* From here on this process gets `more` bytes of memory than it has mapped now, and not one more. */
static inline void allow_only(size_t more) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)status_number("VmSize:") * 1024 + more;
    setrlimit(RLIMIT_AS, &limit);
}

/* `work` runs `warm` times, then `times` times; memory, threads and files must not grow over the latter. */
static inline void must_not_grow(void (*work)(void *), void *user, int warm, int times) {
    /* A leak of the smallest useful thing (a context, a callback's box, a thread) in each of 1000 rounds is far more. */
    const long noise = 1 << 20;
    for (int i = 0; i < warm && checks_failed == 0; i++) {
        work(user);
    }
    sleep_ms(100);
    long threads = status_number("Threads:");
    long resident = resident_bytes();
    int files = open_files();
    for (int i = 0; i < times && checks_failed == 0; i++) {
        work(user);
    }
    long threads_after = threads_settled_to(threads);
    long grown = resident_bytes() - resident;
    check_that(threads_after <= threads, __FILE__, __LINE__, "%d rounds: threads grew from %ld to %ld", times, threads,
               threads_after);
    check_that(open_files() <= files, __FILE__, __LINE__, "%d rounds: open files grew from %d to %d", times, files,
               open_files());
    check_that(slow() || grown <= noise, __FILE__, __LINE__, "%d rounds: memory grew by %ld bytes", times, grown);
}

#endif
