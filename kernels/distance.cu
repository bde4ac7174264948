// The exact signed distance (src/distance/cuda.rs launches these kernels).
