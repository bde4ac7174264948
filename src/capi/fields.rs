//! The connection between the params structs of the C API and the parameter tables of the operations: defaults, checks and
//! the offset of each parameter.

use super::check;
use super::operation::isoline_storage::{self, ISOLINE_STORAGE_F64, ISOLINE_STORAGE_U32, ISOLINE_STORAGE_U64};
use super::sized::{self, Sized32};
use crate::error::Result;
use crate::parameter::{Kind, Operation, Parameter, same};
use std::mem::MaybeUninit;

impl isoline_storage {
    const fn bytes(self) -> usize {
        if matches!(self, ISOLINE_STORAGE_U32) { 4 } else { 8 }
    }
}

/// A type that parameters are stored as.
pub(super) trait Stored {
    const STORAGE: isoline_storage;
}

impl Stored for u32 {
    const STORAGE: isoline_storage = ISOLINE_STORAGE_U32;
}

impl Stored for u64 {
    const STORAGE: isoline_storage = ISOLINE_STORAGE_U64;
}

impl Stored for f64 {
    const STORAGE: isoline_storage = ISOLINE_STORAGE_F64;
}

/// A field of a params struct that holds a parameter.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) offset: usize,
    pub(super) storage: isoline_storage,
}

impl Field {
    /// Returns the field that `get` reads, which determines its type.
    pub(super) const fn new<S, T: Stored>(name: &'static str, offset: usize, _get: fn(&S) -> &T) -> Self {
        Self { name, offset, storage: T::STORAGE }
    }
}

/// A params struct that a table describes.
///
/// # Safety
/// `FIELDS` are fields of the struct, of the types that they say, and zeros are valid in all its bytes.
pub(super) unsafe trait Described: Sized32 {
    const OPERATION: &'static Operation;
    /// The fields of the operation's parameters, in their order.
    const FIELDS: &'static [Field];
    /// The number of fields that are reserved for later versions.
    const RESERVED: usize;

    /// Returns the first reserved field that is not 0, else 0.
    fn reserved(&self) -> u32;
}

/// Fails to compile if the names or types of fields differ from those of the table, or if the struct has bytes that are
/// neither its size, nor a parameter, nor reserved.
pub(super) const fn check<T: Described>() {
    let parameters = T::OPERATION.parameters;
    assert!(T::FIELDS.len() == parameters.len(), "the struct has another number of parameters than the table");
    let mut bytes = (1 + T::RESERVED) * size_of::<u32>();
    let mut at = 0;
    while at < parameters.len() {
        let (field, parameter) = (&T::FIELDS[at], &parameters[at]);
        assert!(same(field.name.as_bytes(), parameter.name.to_bytes()), "the table has another name for a field");
        let fits = match parameter.kind {
            Kind::Float => matches!(field.storage, ISOLINE_STORAGE_F64),
            Kind::Integer => {
                let most = if matches!(field.storage, ISOLINE_STORAGE_U32) { u32::MAX as f64 } else { u64::MAX as f64 };
                !matches!(field.storage, ISOLINE_STORAGE_F64) && parameter.maximum <= most
            }
            Kind::Flag | Kind::Choice => matches!(field.storage, ISOLINE_STORAGE_U32),
        };
        assert!(fits, "the table has another type for a field");
        bytes += field.storage.bytes();
        at += 1;
    }
    assert!(bytes == size_of::<T>(), "the struct has a field that is no parameter");
}

/// Returns the struct with every parameter at its default.
pub(super) fn defaults<T: Described>() -> T {
    let mut params = MaybeUninit::<T>::zeroed();
    let start = params.as_mut_ptr().cast::<u8>();
    // SAFETY: struct_size comes first (Sized32); the fields lie within the struct (Described), whose zeros are valid.
    unsafe {
        start.cast::<u32>().write_unaligned(size_of::<T>() as u32);
        for (field, parameter) in T::FIELDS.iter().zip(T::OPERATION.parameters) {
            let place = start.add(field.offset);
            match field.storage {
                ISOLINE_STORAGE_U32 => place.cast::<u32>().write_unaligned(parameter.default as u32),
                ISOLINE_STORAGE_U64 => place.cast::<u64>().write_unaligned(parameter.default as u64),
                ISOLINE_STORAGE_F64 => place.cast::<f64>().write_unaligned(parameter.default),
            }
        }
        params.assume_init()
    }
}

/// Reads a caller's struct; NULL stands for the defaults. Refuses a parameter out of its range, even if the call does not use
/// it, and a reserved field that is not 0.
///
/// # Safety
/// The requirements of [`sized::read`] hold.
pub(super) unsafe fn read<T: Described>(params: *const T) -> Result<T> {
    // SAFETY: as the caller ensures.
    let params = if params.is_null() { T::defaults() } else { unsafe { sized::read(params, "params") }? };
    check::reserved(params.reserved(), "params")?;
    let start = std::ptr::from_ref(&params).cast::<u8>();
    T::FIELDS.iter().zip(T::OPERATION.parameters).try_for_each(|(field, parameter): (&Field, &Parameter)| {
        // SAFETY: the field lies within the struct and has this type (Described).
        parameter.check(unsafe {
            let place = start.add(field.offset);
            match field.storage {
                ISOLINE_STORAGE_U32 => f64::from(place.cast::<u32>().read_unaligned()),
                ISOLINE_STORAGE_U64 => place.cast::<u64>().read_unaligned() as f64,
                ISOLINE_STORAGE_F64 => place.cast::<f64>().read_unaligned(),
            }
        })
    })?;
    Ok(params)
}

/// Makes a struct the params struct of an operation: `params_of!(STRUCT, FIRST_SIZE, OPERATION, [RESERVED...], FIELDS...)`.
/// FIRST_SIZE is the size of the struct in the first release; RESERVED are its fields that are reserved for later versions
/// and must be 0.
macro_rules! params_of {
    ($params:ident, $first_size:literal, $operation:path, [$($reserved:ident),*], $($field:ident),+ $(,)?) => {
        // SAFETY: repr(C), struct_size first; integers and floats.
        unsafe impl $crate::capi::sized::Sized32 for $params {
            const NAME: &'static str = stringify!($params);
            const FIRST_SIZE: usize = $first_size;
            fn defaults() -> Self {
                $crate::capi::fields::defaults()
            }
        }

        // SAFETY: each field by its own offset and type; integers and floats may be zero.
        unsafe impl $crate::capi::fields::Described for $params {
            const OPERATION: &'static $crate::parameter::Operation = &$operation;
            const FIELDS: &'static [$crate::capi::fields::Field] = &[$($crate::capi::fields::Field::new(
                stringify!($field),
                std::mem::offset_of!($params, $field),
                |params: &$params| &params.$field,
            )),+];
            const RESERVED: usize = <[&str]>::len(&[$(stringify!($reserved)),*]);

            fn reserved(&self) -> u32 {
                let reserved: &[u32] = &[$(self.$reserved),*];
                reserved.iter().copied().find(|&value| value != 0).unwrap_or(0)
            }
        }

        const _: () = assert!(size_of::<$params>() == $first_size);
        const _: () = $crate::capi::fields::check::<$params>();
    };
}
pub(super) use params_of;
