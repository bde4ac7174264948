/**
 * Isoline from Java, without ImageJ: devices, contexts, pixel buffers and the operations.
 *
 * <p>Every class here is a thin layer over the C API (include/isoline.h); the native library is loaded by
 * {@link io.github.isoline.NativeLoader} at the first use.
 */
package io.github.isoline;
