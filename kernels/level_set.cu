// Level sets (src/level_set/cuda.rs launches these kernels).
