/*
 * The parts of POSIX that the tests use and MinGW-w64 lacks, for Windows. The headers of POSIX's names beside this one
 * include it. What Windows has no counterpart for fails, and the tests that need it say that they are skipped.
 */
#ifndef ISOLINE_TESTS_POSIX_H
#define ISOLINE_TESTS_POSIX_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* These need windows.h. */
#include <psapi.h>
#include <tlhelp32.h>
/* A leftover of 16-bit Windows takes this name from programs. */
#undef far

#include <io.h>
#include <process.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------------- processes */

#define SIGALRM 14

static inline pid_t fork(void) {
    return -1;
}

static inline pid_t waitpid(pid_t child, int *state, int options) {
    (void)child;
    (void)state;
    (void)options;
    return -1;
}

static inline unsigned alarm(unsigned seconds) {
    (void)seconds;
    return 0;
}

static inline const char *strsignal(int number) {
    return number == SIGSEGV ? "crashed" : "ended";
}

/*
 * For want of fork the program runs again with the test's name in the environment, and that process runs this test
 * alone. A test's name is its place in the program, relative to the start, which is at another address every time.
 */
static inline void name_of_test(void (*test)(const char *), const char *device, char *name, size_t size) {
    snprintf(name, size, "%llx %s", (unsigned long long)((uintptr_t)test - (uintptr_t)GetModuleHandleA(NULL)), device);
}

static inline const char *test_of_this_process(void) {
    return getenv("ISOLINE_TEST_TO_RUN");
}

/* Runs a test in a process of its own; returns its exit status, or minus a signal. In that process it does not return. */
static inline int run_in_process(void (*test)(const char *), const char *device,
                                 void (*run)(void (*)(const char *), const char *), unsigned seconds) {
    char name[128], program[MAX_PATH];
    STARTUPINFOA start;
    PROCESS_INFORMATION child;
    DWORD status = 1;
    const char *wanted = test_of_this_process();
    name_of_test(test, device, name, sizeof name);
    if (wanted != NULL) {
        if (strcmp(wanted, name) == 0) {
            run(test, device);
        }
        return 0;
    }
    memset(&start, 0, sizeof start);
    start.cb = sizeof start;
    GetModuleFileNameA(NULL, program, sizeof program);
    SetEnvironmentVariableA("ISOLINE_TEST_TO_RUN", name);
    BOOL started = CreateProcessA(program, NULL, NULL, NULL, TRUE, 0, NULL, NULL, &start, &child);
    SetEnvironmentVariableA("ISOLINE_TEST_TO_RUN", NULL);
    if (!started) {
        return -SIGABRT;
    }
    int in_time = WaitForSingleObject(child.hProcess, seconds * 1000) == WAIT_OBJECT_0;
    if (!in_time) {
        TerminateProcess(child.hProcess, 1);
    }
    GetExitCodeProcess(child.hProcess, &status);
    CloseHandle(child.hProcess);
    CloseHandle(child.hThread);
    return !in_time ? -SIGALRM : status > 255 ? -SIGSEGV : (int)status;
}

/* Answers for /proc/self/exe alone. */
static inline long readlink(const char *link, char *path, size_t size) {
    (void)link;
    DWORD length = GetModuleFileNameA(NULL, path, (DWORD)size);
    for (char *at = path; at < path + length; at++) {
        *at = *at == '\\' ? '/' : *at;
    }
    return (long)length;
}

/* ------------------------------------------------------------------------------------------- limits and environment */

#define RLIMIT_AS 0
#define RLIMIT_CORE 1
typedef uint64_t rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};

/* A process cannot limit its own memory here. */
static inline int getrlimit(int which, struct rlimit *limit) {
    (void)which;
    limit->rlim_cur = limit->rlim_max = UINT64_MAX;
    return 0;
}

static inline int setrlimit(int which, const struct rlimit *limit) {
    (void)which;
    (void)limit;
    return -1;
}

/* The heap here has no arenas. */
#define M_ARENA_MAX 0
static inline int mallopt(int what, int value) {
    (void)what;
    (void)value;
    return 0;
}

#define _SC_PAGESIZE 1
#define _SC_NPROCESSORS_CONF 2

static inline long sysconf(int which) {
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    return (long)(which == _SC_PAGESIZE ? system.dwPageSize : system.dwNumberOfProcessors);
}

static inline int setenv(const char *name, const char *value, int overwrite) {
    (void)overwrite;
    return _putenv_s(name, value);
}

static inline int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

/* ---------------------------------------------------------------------------------------------------------- memory */

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_NORESERVE 1
#define MAP_FAILED ((void *)-1)

static inline DWORD protection(int how) {
    return how == PROT_NONE ? PAGE_NOACCESS : how == PROT_READ ? PAGE_READONLY : PAGE_READWRITE;
}

static inline void *mmap(void *where, size_t length, int how, int flags, int file, long offset) {
    (void)file;
    (void)offset;
    const DWORD kind = flags == MAP_NORESERVE ? MEM_RESERVE : MEM_RESERVE | MEM_COMMIT;
    void *pages = VirtualAlloc(where, length, kind, protection(how));
    return pages == NULL ? MAP_FAILED : pages;
}

static inline int mprotect(void *pages, size_t length, int how) {
    DWORD before;
    return VirtualProtect(pages, length, protection(how), &before) ? 0 : -1;
}

static inline int munmap(void *pages, size_t length) {
    (void)length;
    return VirtualFree(pages, 0, MEM_RELEASE) ? 0 : -1;
}

/* -------------------------------------------------------------------------------------------------------- libraries */

#define RTLD_NOW 0
#define RTLD_GLOBAL 0

static inline void *dlopen(const char *path, int how) {
    (void)how;
    return (void *)LoadLibraryA(path);
}

static inline void *dlsym(void *library, const char *name) {
    FARPROC found = GetProcAddress((HMODULE)library, name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

static inline const char *dlerror(void) {
    static char text[32];
    snprintf(text, sizeof text, "error %lu", GetLastError());
    return text;
}

#endif
