/* Stands in for a library of Windows that Wine 8 lacks, and from which Rust takes random numbers. For tests alone. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    return RtlGenRandom(data, (ULONG)length);
}
