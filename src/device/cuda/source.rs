//! The kernels' source, for tests that Rust and CUDA mean the same where one repeats the other.

/// The value of `constexpr TYPE NAME = number` at the beginning of a line of a kernel file, where several may stand.
///
/// # Panics
/// Where there is none.
pub(crate) fn constant(source: &str, name: &str) -> f64 {
    let declarations = source.lines().filter_map(|line| line.split("//").next()?.strip_prefix("constexpr "));
    let value = declarations.flat_map(|line| line.split([',', ';'])).find_map(|declaration| {
        let (before, value) = declaration.split_once('=')?;
        (before.split_whitespace().last() == Some(name)).then(|| number(value.trim()))
    });
    value.flatten().unwrap_or_else(|| panic!("the kernels have a constant {name} that is a number"))
}

/// A literal's value.
fn number(literal: &str) -> Option<f64> {
    match literal.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits.trim_end_matches('u'), 16).ok().map(f64::from),
        None => literal.trim_end_matches(['f', 'u']).parse().ok(),
    }
}

#[test]
fn constants_are_found() {
    let source = "constexpr u32 A = 4, B = 10;   // A = 5, C = 1\nconstexpr float C = -0.95f;\nconstexpr int D = A + 1;\n\
                  constexpr u32 E = 0xFFu;\n";
    assert_eq!(["A", "B", "C", "E"].map(|name| constant(source, name)), [4.0, 10.0, -0.95, 255.0]);
}
