//! The level set on all CPU cores.
