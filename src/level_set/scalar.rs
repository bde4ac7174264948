//! The level set as a plain loop on one thread: the definition in code.
