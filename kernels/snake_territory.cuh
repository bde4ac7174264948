// The territories of targets that compete for pixels, and the sums over them: src/snake/territory.rs computes them, and
// src/snake/sums.rs has the same sums. Every function works for one thread by itself.
#pragma once
#include "snake_sums.cuh"

// A Territory is the pixels of a window that may belong to its target, as runs of rows in device memory.
struct Territory {
    const u32 *first_runs;   // for each row the entry of its first run, and the end of the last row's; NULL: all pixels
    const int2 *runs;        // x: the first pixel of a run, y: the pixel after its last
    int y0, y1;              // the rows of the window
};

// RowRuns are the runs of a row: the entries `first` up to, not including, `end`.
struct RowRuns {
    u32 first, end;
};

// Returns the runs of a row of the window; none unless it is `wanted`.
__device__ __forceinline__ RowRuns runs_of(const Territory &territory, int y, bool wanted)
{
    if (territory.first_runs == nullptr) return {0, wanted ? 1u : 0u};
    const u32 *const at = territory.first_runs + (wanted ? y - territory.y0 : 0);
    const u32 first = __ldg(at), end = __ldg(at + 1);
    return {first, wanted ? end : first};
}

// Returns a run; `width` is the image's.
__device__ __forceinline__ int2 run_at(const Territory &territory, u32 entry, u32 width)
{
    if (territory.first_runs == nullptr) return make_int2(0, static_cast<int>(width));
    return __ldg(territory.runs + entry);
}

// Returns whether a pixel corner of the window is one of a pixel of the territory.
__device__ __forceinline__ bool has_corner(const Territory &territory, int2 p)
{
    if (territory.first_runs == nullptr) return true;
    for (int y = p.y - 1; y <= p.y; y++) {
        const RowRuns row = runs_of(territory, y, territory.y0 <= y && y < territory.y1);
        for (u32 entry = row.first; entry < row.end; entry++) {
            const int2 run = __ldg(territory.runs + entry);
            if (run.x <= p.x && p.x <= run.y) return true;
        }
    }
    return false;
}

// Does the same as `rows_sum` over the pixels of a territory. An edge is clamped to a run, but pixels are counted from the
// beginning of the row, so the sum includes terms that depend on the rows alone; they cancel in the sum over a polygon.
template <typename T, int STRIDE, int ROWS_IN_FLIGHT>
__device__ __forceinline__ RegionSum rows_sum_within(const LevelImage &image, const Territory &territory, int2 upper,
                                                     int2 lower, int y, int end)
{
    const Columns columns(upper, lower);
    RegionSum sum = {0, 0, 0};
    for (; y < end; y += ROWS_IN_FLIGHT * STRIDE) {
        RowRuns rows[ROWS_IN_FLIGHT];
        Corner corners[ROWS_IN_FLIGHT];
        // 1. Nearly all rows have one run.
        #pragma unroll
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) {
            const int row = y + i * STRIDE;
            rows[i] = runs_of(territory, row, row < end && upper.y <= row && row < lower.y);
        }
        #pragma unroll
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) {
            const int row = y + i * STRIDE;
            const bool wanted = rows[i].first < rows[i].end;
            const int2 run = wanted ? run_at(territory, rows[i].first, image.width) : make_int2(0, 0);
            const int x = min(max(columns.of_row(row - upper.y), run.x), run.y);
            corners[i] = fetch_corner<T>(image, static_cast<u32>(x), static_cast<u32>(row), wanted);
        }
        #pragma unroll
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) sum = sum + sum_left_of<T>(corners[i]);
        // 2. The others have more.
        for (int i = 0; i < ROWS_IN_FLIGHT; i++) {
            const int row = y + i * STRIDE;
            for (u32 entry = rows[i].first + 1; entry < rows[i].end; entry++) {
                const int2 run = run_at(territory, entry, image.width);
                const int x = min(max(columns.of_row(row - upper.y), run.x), run.y);
                sum = sum + left_of<T>(image, static_cast<u32>(x), static_cast<u32>(row));
            }
        }
    }
    return sum;
}
