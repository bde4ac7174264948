//! Reads constants from the kernels' source, for tests that Rust and CUDA agree where one repeats the other.

/// Returns the value of `constexpr TYPE NAME = number`, which stands at the beginning of a line of a kernel file; a
/// line may declare several.
///
/// # Panics
/// If the file has no such constant.
pub(crate) fn constant(source: &str, name: &str) -> f64 {
    let declarations = source.lines().filter_map(|line| line.split("//").next()?.strip_prefix("constexpr "));
    let value = declarations.flat_map(|line| line.split([',', ';'])).find_map(|declaration| {
        let (before, value) = declaration.split_once('=')?;
        (before.split_whitespace().last() == Some(name)).then(|| number(value.trim()))
    });
    value.flatten().unwrap_or_else(|| panic!("the kernels have a constant {name} that is a number"))
}

/// Returns the value of a literal.
fn number(literal: &str) -> Option<f64> {
    let Some(digits) = literal.strip_prefix("0x") else {
        return literal.trim_end_matches(['f', 'u']).parse().ok();
    };
    // A hexadecimal integer may have the digit f; a literal with a binary exponent is a float, whose suffix is f.
    match digits.split_once('p') {
        Some((digits, exponent)) => hexadecimal(digits, exponent.strip_suffix('f').unwrap_or(exponent)),
        None => u32::from_str_radix(digits.trim_end_matches('u'), 16).ok().map(f64::from),
    }
}

/// Returns digits · 2^exponent, where `digits` are hexadecimal, with a point or without, and few enough for f64.
fn hexadecimal(digits: &str, exponent: &str) -> Option<f64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let value = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    let shift = exponent.parse::<i32>().ok()?.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    (value <= 1 << f64::MANTISSA_DIGITS).then(|| value as f64 * 2f64.powi(shift))
}

#[test]
fn constants_are_found() {
    let source = "constexpr u32 A = 4, B = 10;   // A = 5, C = 1\nconstexpr float C = -0.95f;\nconstexpr int D = A + 1;\n\
                  constexpr u32 E = 0xFFu;\n";
    assert_eq!(["A", "B", "C", "E"].map(|name| constant(source, name)), [4.0, 10.0, -0.95, 255.0]);
}

#[test]
fn hexadecimal_floats_are_read() {
    let all = [
        ("0x1p-80f", 2f64.powi(-80)),
        ("0x1p4", 16.0),
        ("0x1.8p+1f", 3.0),
        ("0xF.Fp0", 15.9375),
        ("0x.8p0", 0.5),
        ("0x1.fffffep127f", f32::MAX.into()),
        ("0x1p-149f", f32::from_bits(1).into()),
        ("0xFF", 255.0),
    ];
    for (literal, value) in all {
        assert_eq!(number(literal), Some(value), "{literal}");
    }
    for wrong in ["0xp1", "0x1p", "0x1pf", "0x1.8", "0x1gp1", "0x1p2p3", "0x1p1.5", "0x20000000000001p0"] {
        assert_eq!(number(wrong), None, "{wrong}");
    }
}
