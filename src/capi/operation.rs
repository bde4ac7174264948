//! The operations and their parameters as data, from which dialogs, macros and bindings for other languages are made.

use super::fields::{Described, Field};
use super::sized::{self, Sized32, sized_struct};
use super::{ENTRIES, guard, guard_or, isoline_status};
use crate::error::{Error, Result};
use crate::parameter::{self, Kind, Level, Operation, Parameter};
use std::ffi::{CStr, c_char};
use std::ptr::null;

/// The value of a double in a params struct that makes the parameter automatic: the operation computes it. Only a
/// parameter whose description has `automatic` accepts it. The integer that makes a parameter automatic is 0.
pub const ISOLINE_AUTOMATIC: f64 = -1.7976931348623157e308;
const _: () = assert!(ISOLINE_AUTOMATIC == parameter::AUTOMATIC);

/// The type of a parameter's values.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_parameter_type {
    /// A finite number.
    ISOLINE_PARAMETER_FLOAT = 0,
    /// A whole number of at least 0.
    ISOLINE_PARAMETER_INTEGER = 1,
    /// 0 or 1.
    ISOLINE_PARAMETER_FLAG = 2,
    /// The value of one of the parameter's choices.
    ISOLINE_PARAMETER_CHOICE = 3,
}

/// The level of a parameter: how often users change it.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_parameter_level {
    /// A parameter that most images need.
    ISOLINE_PARAMETER_BASIC = 0,
    /// A parameter that seldom needs another value than the default.
    ISOLINE_PARAMETER_ADVANCED = 1,
}

/// The C type of a parameter in a params struct.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum isoline_storage {
    /// A uint32_t.
    ISOLINE_STORAGE_U32 = 0,
    /// A uint64_t.
    ISOLINE_STORAGE_U64 = 1,
    /// A double.
    ISOLINE_STORAGE_F64 = 2,
}

/// An operation. Its strings are UTF-8, belong to the library and are valid as long as it is loaded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_operation {
    /// The size of the struct, set by isoline_operation_init.
    pub struct_size: u32,
    /// The number of its parameters.
    pub parameter_count: u32,
    /// The size of the operation's params struct in this library, in bytes, which its params_init accepts.
    pub params_size: u64,
    /// The name in code, such as "edge_strength" for isoline_edge_strength_params.
    pub name: *const c_char,
    /// The name that users see.
    pub title: *const c_char,
    /// One line that describes the result.
    pub help: *const c_char,
}

/// A parameter of an operation. Its strings are UTF-8, belong to the library and are valid as long as it is loaded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_parameter {
    /// The size of the struct, set by isoline_parameter_init.
    pub struct_size: u32,
    /// An isoline_parameter_type.
    pub r#type: u32,
    /// An isoline_parameter_level.
    pub level: u32,
    /// The C type of the field in the params struct, an isoline_storage.
    pub storage: u32,
    /// The offset of the field in the params struct, in bytes.
    pub offset: u64,
    /// The name of the struct's field, the macro key and the keyword argument.
    pub name: *const c_char,
    /// The label in a dialog.
    pub title: *const c_char,
    /// One line that describes the parameter and the effect of a larger value.
    pub help: *const c_char,
    /// The unit, as a label beside a field; "" if there is none.
    pub unit: *const c_char,
    /// One line that describes the automatic value; NULL if the parameter cannot be automatic.
    pub automatic: *const c_char,
    /// The value that makes the parameter automatic, ISOLINE_AUTOMATIC or 0; 0 if it cannot be automatic.
    pub automatic_value: f64,
    /// The default, which may be the value that makes the parameter automatic.
    pub default_value: f64,
    /// The smallest value; -INFINITY if there is no bound.
    pub minimum: f64,
    /// The largest value; INFINITY if there is no bound.
    pub maximum: f64,
    /// 1 if `minimum` itself is outside the range, else 0.
    pub minimum_excluded: u32,
    /// 1 if `maximum` itself is outside the range, else 0.
    pub maximum_excluded: u32,
    /// 1 if only powers of two are in the range, else 0.
    pub power_of_two: u32,
    /// The number of choices; 0 for other types.
    pub choice_count: u32,
}

/// One value of a parameter that is a choice. Its strings are UTF-8, belong to the library and are valid as long as
/// it is loaded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct isoline_choice {
    /// The size of the struct, set by isoline_choice_init.
    pub struct_size: u32,
    /// The number of the choice in the params struct.
    pub value: u32,
    /// The word in macros and keyword arguments.
    pub name: *const c_char,
    /// The name that users see.
    pub title: *const c_char,
    /// One line that says when to use the choice.
    pub help: *const c_char,
}

sized_struct!(isoline_operation, 40);
sized_struct!(isoline_parameter, 112);
sized_struct!(isoline_choice, 32);

/// An operation, with the layout of its params struct.
pub(super) struct Entry {
    operation: &'static Operation,
    fields: &'static [Field],
    params_size: usize,
}

impl Entry {
    pub(super) const fn of<T: Described>() -> Self {
        Self { operation: T::OPERATION, fields: T::FIELDS, params_size: size_of::<T>() }
    }
}

/// Returns an element of a table, or an error if the index is out of range.
fn entry<'a, T>(table: &'a [T], index: usize, what: &str) -> Result<&'a T> {
    table.get(index).ok_or_else(|| {
        Error::argument(format!("{what} must be less than {}, the number of them, but it is {index}", table.len()))
    })
}

/// Returns a parameter with its field, or an error if an index is out of range.
fn parameter_of(operation: usize, index: usize) -> Result<(&'static Parameter, &'static Field)> {
    let of = entry(ENTRIES, operation, "operation")?;
    Ok((entry(of.operation.parameters, index, "index")?, &of.fields[index]))
}

fn pointer(text: &CStr) -> *const c_char {
    text.as_ptr()
}

/// Returns the number of operations. May be called on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_operation_count() -> usize {
    guard_or(0, || ENTRIES.len())
}

/// Fills `operation` with zeros; `struct_size` is sizeof *operation, see "Structs". Call this before isoline_operation_info.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_operation_init(
    operation: *mut isoline_operation,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(operation, struct_size, "operation") })
}

/// Describes an operation.
///
/// @param index less than isoline_operation_count(). An operation keeps its index in all versions of the library.
/// @param out not NULL; after isoline_operation_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_operation_info(index: usize, out: *mut isoline_operation) -> isoline_status {
    guard(|| {
        let Entry { operation, params_size, .. } = entry(ENTRIES, index, "index")?;
        let info = isoline_operation {
            parameter_count: operation.parameters.len() as u32,
            params_size: *params_size as u64,
            name: pointer(operation.name),
            title: pointer(operation.title),
            help: pointer(operation.help),
            ..Sized32::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(out, &info, "out") }
    })
}

/// Fills `parameter` with zeros; `struct_size` is sizeof *parameter, see "Structs". Call this before isoline_parameter_info.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_parameter_init(
    parameter: *mut isoline_parameter,
    struct_size: usize,
) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(parameter, struct_size, "parameter") })
}

/// Describes a parameter of an operation.
///
/// @param operation less than isoline_operation_count().
/// @param index less than the operation's parameter_count.
/// @param out not NULL; after isoline_parameter_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_parameter_info(
    operation: usize,
    index: usize,
    out: *mut isoline_parameter,
) -> isoline_status {
    guard(|| {
        let (parameter, field) = parameter_of(operation, index)?;
        let info = isoline_parameter {
            r#type: match parameter.kind {
                Kind::Float => isoline_parameter_type::ISOLINE_PARAMETER_FLOAT,
                Kind::Integer => isoline_parameter_type::ISOLINE_PARAMETER_INTEGER,
                Kind::Flag => isoline_parameter_type::ISOLINE_PARAMETER_FLAG,
                Kind::Choice => isoline_parameter_type::ISOLINE_PARAMETER_CHOICE,
            } as u32,
            level: match parameter.level {
                Level::Basic => isoline_parameter_level::ISOLINE_PARAMETER_BASIC,
                Level::Advanced => isoline_parameter_level::ISOLINE_PARAMETER_ADVANCED,
            } as u32,
            storage: field.storage as u32,
            offset: field.offset as u64,
            name: pointer(parameter.name),
            title: pointer(parameter.title),
            help: pointer(parameter.help),
            unit: pointer(parameter.unit),
            automatic: parameter.automatic.map_or(null(), pointer),
            automatic_value: if parameter.automatic.is_some() { parameter.automatic_value() } else { 0.0 },
            default_value: parameter.default,
            minimum: parameter.minimum,
            maximum: parameter.maximum,
            minimum_excluded: parameter.minimum_excluded.into(),
            maximum_excluded: parameter.maximum_excluded.into(),
            power_of_two: parameter.power_of_two.into(),
            choice_count: parameter.choices.len() as u32,
            ..Sized32::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(out, &info, "out") }
    })
}

/// Fills `choice` with zeros; `struct_size` is sizeof *choice, see "Structs". Call this before isoline_choice_info.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_choice_init(choice: *mut isoline_choice, struct_size: usize) -> isoline_status {
    // SAFETY: as the caller ensures.
    guard(|| unsafe { sized::init(choice, struct_size, "choice") })
}

/// Describes a choice of a parameter.
///
/// @param operation less than isoline_operation_count().
/// @param parameter less than the operation's parameter_count.
/// @param index less than the parameter's choice_count.
/// @param out not NULL; after isoline_choice_init.
/// @return ISOLINE_OK or an error: ISOLINE_NULL_POINTER, ISOLINE_INVALID_ARGUMENT. May be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoline_choice_info(
    operation: usize,
    parameter: usize,
    index: usize,
    out: *mut isoline_choice,
) -> isoline_status {
    guard(|| {
        let choice = entry(parameter_of(operation, parameter)?.0.choices, index, "index")?;
        let info = isoline_choice {
            value: choice.value,
            name: pointer(choice.name),
            title: pointer(choice.title),
            help: pointer(choice.help),
            ..Sized32::defaults()
        };
        // SAFETY: as the caller ensures.
        unsafe { sized::write(out, &info, "out") }
    })
}

/// Checks that a value is in a parameter's range. A call of the operation makes the same check, and further checks that
/// depend on the image or on other parameters.
///
/// @param operation less than isoline_operation_count().
/// @param parameter less than the operation's parameter_count.
/// @param value the value to check, for a parameter of any type.
/// @return ISOLINE_OK or an error: ISOLINE_INVALID_ARGUMENT for a value out of range: isoline_last_error() names the
///   parameter, the range and the value; and for an index out of range. May be called on any thread.
#[unsafe(no_mangle)]
pub extern "C" fn isoline_parameter_check(operation: usize, parameter: usize, value: f64) -> isoline_status {
    guard(|| parameter_of(operation, parameter)?.0.check(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OPERATIONS;

    /// Returns the comment of a field of a params struct in the header.
    fn header_comment(operation: &str, parameter: &str) -> String {
        let header = include_str!("../../include/isoline.h");
        let end = header.find(&format!("}} isoline_{operation}_params;")).expect("the struct");
        let fields = &header[header[..end].rfind("typedef struct").expect("its start")..end];
        let field = fields.find(&format!(" {parameter};")).expect("the field");
        let comment = &fields[fields[..field].rfind("/**").expect("its comment")..field];
        comment.lines().map(|line| line.trim().trim_start_matches("* ")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn entries_are_the_operations() {
        for (entry, operation) in ENTRIES.iter().zip(OPERATIONS) {
            assert_eq!(entry.operation.name, operation.name);
        }
    }

    #[test]
    fn the_header_names_the_defaults_of_the_table() {
        for operation in OPERATIONS {
            for parameter in operation.parameters {
                let [operation, name] = [operation.name, parameter.name].map(|text| text.to_str().unwrap());
                let comment = header_comment(operation, name);
                let default = parameter.default;
                let named = match parameter.kind {
                    _ if parameter.is_automatic(default) => comment.contains("(default): automatic"),
                    Kind::Choice if name == "dimensions" => comment.contains(&format!("{default} (default)")),
                    Kind::Choice => comment.contains("Default: ISOLINE_"),
                    Kind::Flag => comment.contains(&format!("{default} (default)")),
                    _ => ["Default "].iter().any(|word| {
                        let after = comment.split(word).nth(1).unwrap_or_default();
                        let number: String =
                            after.chars().take_while(|c| c.is_ascii_digit() || ".e-".contains(*c)).collect();
                        number.trim_end_matches('.').parse() == Ok(default)
                    }),
                };
                assert!(named, "{operation}.{name}: the default is {default}, but the header says: {comment}");
            }
        }
    }

    #[test]
    fn the_header_names_the_bounds_of_the_table() {
        for operation in OPERATIONS {
            for parameter in operation.parameters.iter().filter(|p| matches!(p.kind, Kind::Float | Kind::Integer)) {
                let [operation, name] = [operation.name, parameter.name].map(|text| text.to_str().unwrap());
                let comment = header_comment(operation, name);
                let digits = comment.replace(',', "");
                let numbers: Vec<f64> = digits
                    .split(|c: char| !(c.is_ascii_digit() || ".e-".contains(c)))
                    .filter_map(|word| word.trim_matches(['.', '-']).parse().ok())
                    .collect();
                // The type is a bound of its own: integers are at least 0 and at most the largest of the type.
                let of_type = |bound: f64| {
                    !bound.is_finite() || parameter.kind == Kind::Integer && (bound == 0.0 || bound >= u32::MAX as f64)
                };
                for bound in [parameter.minimum, parameter.maximum] {
                    let named = of_type(bound) || numbers.contains(&bound.abs());
                    assert!(named, "{operation}.{name}: {bound} is a bound, but the header says: {comment}");
                }
            }
        }
    }
}
