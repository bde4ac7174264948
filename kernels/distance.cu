// The exact signed distance to the boundary of a mask.
//
//   rows_{u8,u16,f32}    along x: signed squared distances within each row, distance_rows.cuh
//   columns_{32..1}, columns_far   along y, then z: the minimum over each column, distance_columns.cuh; where the whole
//                                  column is near a boundary, distance_near.cuh
//
// Distances are squared and signed (inside negative), in units of half the last axis' spacing; without a boundary:
// infinity.
#include "distance_columns.cuh"
#include "distance_rows.cuh"

#define ISOLINE_DT_ROWS(NAME, PIXEL)                                                                                 \
    extern "C" __global__ void __launch_bounds__(DT_ROWS *WARP) NAME(const __grid_constant__ isoline_dt_rows job)    \
    {                                                                                                                \
        rows_kernel<PIXEL>(job);                                                                                     \
    }
ISOLINE_DT_ROWS(isoline_dt_rows_u8, unsigned char)
ISOLINE_DT_ROWS(isoline_dt_rows_u16, unsigned short)
ISOLINE_DT_ROWS(isoline_dt_rows_f32, float)
#undef ISOLINE_DT_ROWS

#define ISOLINE_DT_COLUMNS(NAME, THREADS, BLOCKS, COLUMNS, TABLE, FAR)                                               \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(const __grid_constant__ isoline_dt_columns job) \
    {                                                                                                                \
        columns_kernel<COLUMNS, TABLE, FAR>(job);                                                                    \
    }
ISOLINE_DT_COLUMNS(isoline_dt_columns_32, 1024, 1, 32, true, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_16, 1024, 1, 16, true, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_8, 1024, 1, 8, true, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_4, 1024, 1, 4, false, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_2, 1024, 1, 2, false, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_1, 1024, 1, 1, false, false)
ISOLINE_DT_COLUMNS(isoline_dt_columns_far, 1024, 1, 8, false, true)
#undef ISOLINE_DT_COLUMNS
