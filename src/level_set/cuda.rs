//! The level set on CUDA.
