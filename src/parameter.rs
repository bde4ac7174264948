//! The parameters of the operations, each declared once.
//!
//! An operation's table is in its `parameters.rs`. The defaults, the checks of ranges and the C API's introspection come
//! from it, and through the introspection the dialogs, macro keys and keyword arguments of other programs.
//!
//! A new parameter is an entry of the table, a field of the operation's `Params`, and a field of its struct in `capi`, which
//! `params_of!` names; the compiler says where they do not agree.

use crate::error::{Error, Result, number};
use crate::image::{Dimensions, Foreground, PixelType};
use std::ffi::CStr;
use std::fmt::Write;

/// The value that stands for "automatic" in a float parameter. It has no other meaning for any parameter.
pub(crate) const AUTOMATIC: f64 = f64::MIN;

/// The value that stands for "automatic" in an integer parameter.
const AUTOMATIC_INTEGER: f64 = 0.0;

/// An operation and its parameters. Texts are UTF-8.
#[derive(Debug)]
#[non_exhaustive]
pub struct Operation {
    /// The name in code, such as `edge_strength`.
    pub name: &'static CStr,
    /// The name for people.
    pub title: &'static CStr,
    /// One line: the result of the operation.
    pub help: &'static CStr,
    /// The parameters, in the order of the C struct's fields.
    pub parameters: &'static [Parameter],
}

/// The type of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A finite number.
    Float,
    /// A whole number of at least 0.
    Integer,
    /// 0 or 1.
    Flag,
    /// One of [`Parameter::choices`].
    Choice,
}

/// The need to change a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// Most images need it.
    Basic,
    /// Few images need another value than the default.
    Advanced,
}

/// One value of a parameter that is a choice.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The number in the C API.
    pub value: u32,
    /// The word in macros and in Python.
    pub name: &'static CStr,
    /// The name for people.
    pub title: &'static CStr,
    /// One line: when to choose it.
    pub help: &'static CStr,
}

impl Choice {
    pub(crate) const fn new(value: u32, name: &'static CStr, title: &'static CStr, help: &'static CStr) -> Self {
        Self { value, name, title, help }
    }
}

/// The choices of a parameter `dimensions`.
pub(crate) const DIMENSIONS_CHOICES: [Choice; 2] = [
    Choice::new(2, c"slices", c"Slices", c"Each slice by itself."),
    Choice::new(3, c"volume", c"Volume", c"The stack as one volume."),
];

/// The meanings of [`DIMENSIONS_CHOICES`].
pub(crate) const DIMENSIONS: [Dimensions; 2] = [Dimensions::Slices, Dimensions::Volume];

/// The choices of a parameter `foreground`.
pub(crate) const FOREGROUND_CHOICES: [Choice; 2] = [
    Choice::new(0, c"above", c"Above", c"Pixels above the threshold: bright shapes on dark ground."),
    Choice::new(1, c"below", c"Below", c"Pixels at or below the threshold: dark shapes on bright ground."),
];

/// The meanings of [`FOREGROUND_CHOICES`].
pub(crate) const FOREGROUNDS: [Foreground; 2] = [Foreground::Above, Foreground::Below];

/// One parameter of an operation. Numbers of every type are held as f64.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The field of the C struct, the macro key and the keyword argument.
    pub name: &'static CStr,
    /// The label in a dialog.
    pub title: &'static CStr,
    /// One line: the meaning, and the effect of a larger value.
    pub help: &'static CStr,
    /// The unit, as a label beside a field; empty where there is none.
    pub unit: &'static CStr,
    /// The type.
    pub kind: Kind,
    /// The need to change it.
    pub level: Level,
    /// The smallest value; −∞ where there is no bound.
    pub minimum: f64,
    /// The largest value; +∞ where there is no bound.
    pub maximum: f64,
    /// `minimum` itself is outside the range.
    pub minimum_excluded: bool,
    /// `maximum` itself is outside the range.
    pub maximum_excluded: bool,
    /// Only powers of two are in the range.
    pub power_of_two: bool,
    /// The default.
    pub default: f64,
    /// The value that the operation computes where the parameter is [`automatic_value`](Self::automatic_value); `None`
    /// for a parameter that cannot be automatic.
    pub automatic: Option<&'static CStr>,
    /// The values of a choice; empty for other types.
    pub choices: &'static [Choice],
    /// The advice at the end of the error about a value outside the range.
    advice: &'static str,
}

impl Parameter {
    const fn new(name: &'static CStr, title: &'static CStr, kind: Kind, default: f64, help: &'static CStr) -> Self {
        Self {
            name,
            title,
            help,
            unit: c"",
            kind,
            level: Level::Basic,
            minimum: f64::NEG_INFINITY,
            maximum: f64::INFINITY,
            minimum_excluded: false,
            maximum_excluded: false,
            power_of_two: false,
            default,
            automatic: None,
            choices: &[],
            advice: "",
        }
    }

    pub(crate) const fn float(name: &'static CStr, title: &'static CStr, default: f64, help: &'static CStr) -> Self {
        Self::new(name, title, Kind::Float, default, help)
    }

    /// The pixel value of the first level of a 32-bit image.
    pub(crate) const fn first_level() -> Self {
        let help = c"Used by 32-bit images, which are computed in 65536 levels: the value of the first level. Smaller pixels count as it.";
        let automatic = c"The smallest finite pixel, but for single ones that are far below all others.";
        Self::float(c"range_min", c"Lowest value", 0.0, help).pixel_values().automatic(automatic).advanced()
    }

    /// The pixel value of the last level of a 32-bit image.
    pub(crate) const fn last_level() -> Self {
        let help = c"Used by 32-bit images, which are computed in 65536 levels: the value of the last level. Larger pixels count as it.";
        let automatic = c"The largest finite pixel, but for single ones that are far above all others.";
        Self::float(c"range_max", c"Highest value", 0.0, help).pixel_values().automatic(automatic).advanced()
    }

    /// A whole number that fits 32 bits, unless [`at_most`](Self::at_most) sets a smaller bound.
    pub(crate) const fn integer(name: &'static CStr, title: &'static CStr, default: u32, help: &'static CStr) -> Self {
        Self::new(name, title, Kind::Integer, default as f64, help).at_least(0.0).at_most(u32::MAX as f64)
    }

    pub(crate) const fn flag(name: &'static CStr, title: &'static CStr, default: bool, help: &'static CStr) -> Self {
        Self::new(name, title, Kind::Flag, if default { 1.0 } else { 0.0 }, help).at_least(0.0).at_most(1.0)
    }

    /// `default` is the value of one of the choices, which are in the order of their values.
    pub(crate) const fn choice(
        name: &'static CStr,
        title: &'static CStr,
        default: u32,
        choices: &'static [Choice],
        help: &'static CStr,
    ) -> Self {
        let [first, .., last] = choices else { panic!("a choice has two values or more") };
        let parameter = Self::new(name, title, Kind::Choice, default as f64, help);
        Self { choices, ..parameter }.at_least(first.value as f64).at_most(last.value as f64)
    }

    pub(crate) const fn unit(self, unit: &'static CStr) -> Self {
        Self { unit, ..self }
    }

    /// An end of a range of pixel values, which f32 can hold.
    pub(crate) const fn pixel_values(self) -> Self {
        self.unit(c"pixel values").at_least(-3.4e38).at_most(3.4e38)
    }

    pub(crate) const fn at_least(self, minimum: f64) -> Self {
        Self { minimum, minimum_excluded: false, ..self }
    }

    pub(crate) const fn above(self, minimum: f64) -> Self {
        Self { minimum, minimum_excluded: true, ..self }
    }

    pub(crate) const fn at_most(self, maximum: f64) -> Self {
        Self { maximum, maximum_excluded: false, ..self }
    }

    pub(crate) const fn below(self, maximum: f64) -> Self {
        Self { maximum, maximum_excluded: true, ..self }
    }

    pub(crate) const fn power_of_two(self) -> Self {
        Self { power_of_two: true, ..self }
    }

    /// Automatic by default; `computed` describes the value that is used then.
    pub(crate) const fn automatic(self, computed: &'static CStr) -> Self {
        Self { automatic: Some(computed), default: self.automatic_value(), ..self }
    }

    pub(crate) const fn advanced(self) -> Self {
        Self { level: Level::Advanced, ..self }
    }

    pub(crate) const fn advice(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }

    /// The value that stands for "automatic": the same one for all parameters of a type.
    pub const fn automatic_value(&self) -> f64 {
        if matches!(self.kind, Kind::Float) { AUTOMATIC } else { AUTOMATIC_INTEGER }
    }

    /// `true` if the parameter can be automatic and `value` stands for that.
    pub fn is_automatic(&self, value: f64) -> bool {
        self.automatic.is_some() && value == self.automatic_value()
    }

    /// The value, or `None` for "automatic".
    pub(crate) fn unless_automatic(&self, value: f64) -> Option<f64> {
        (!self.is_automatic(value)).then_some(value)
    }

    /// Refuses a value outside the range, by the parameter's name.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    pub fn check(&self, value: f64) -> Result<()> {
        if self.is_automatic(value) { Ok(()) } else { self.check_given(value) }
    }

    /// Checks a value that is not automatic.
    pub(crate) fn check_if_given(&self, value: Option<impl Into<f64>>) -> Result<()> {
        value.map_or(Ok(()), |value| self.check_given(value.into()))
    }

    /// Checks a value like [`check`](Self::check), but no value means "automatic".
    pub(crate) fn check_given(&self, value: f64) -> Result<()> {
        if !value.is_finite() {
            return Err(self.refusal("a finite number", value));
        }
        if value == AUTOMATIC {
            return Err(Error::argument(format!("{} cannot be automatic here; give a number", text(self.name))));
        }
        let too_low = if self.minimum_excluded { value <= self.minimum } else { value < self.minimum };
        let too_high = if self.maximum_excluded { value >= self.maximum } else { value > self.maximum };
        let fits_kind = match self.kind {
            Kind::Float => true,
            Kind::Integer if self.power_of_two => (value as u64).is_power_of_two() && value.fract() == 0.0,
            Kind::Integer | Kind::Flag => value.fract() == 0.0,
            Kind::Choice => self.choices.iter().any(|choice| f64::from(choice.value) == value),
        };
        if too_low || too_high || !fits_kind { Err(self.refusal(&self.range(value), value)) } else { Ok(()) }
    }

    /// The meaning of a choice; `meanings` are in the order of the choices.
    pub(crate) fn chosen<T: Copy>(&self, value: u32, meanings: &[T]) -> Result<T> {
        debug_assert_eq!(meanings.len(), self.choices.len());
        let place = self.choices.iter().position(|choice| choice.value == value);
        place
            .and_then(|place| meanings.get(place).copied())
            .ok_or_else(|| self.refusal(&self.range(value.into()), value.into()))
    }

    /// The meaning of the default choice; `meanings` are in the order of the choices.
    pub(crate) fn default_of<T: Copy>(&self, meanings: &[T]) -> T {
        self.chosen(self.default as u32, meanings).expect("the default is one of the choices")
    }

    /// The error for `value`, when `wanted` describes the values that are allowed.
    fn refusal(&self, wanted: &str, value: f64) -> Error {
        let mut text = format!("{} must be {wanted}", text(self.name));
        if !self.unit.is_empty() {
            let _ = write!(text, " ({})", self::text(self.unit));
        }
        if self.automatic.is_some() {
            text += ", or automatic";
        }
        let _ = write!(text, ", but it is {}", number(value));
        if !self.advice.is_empty() {
            let _ = write!(text, "; {}", self.advice);
        }
        Error::argument(text)
    }

    /// The range in words, such as "greater than 0 and at most 1", for the error about `value`.
    fn range(&self, value: f64) -> String {
        let [low, high] = [self.minimum, self.maximum].map(number);
        match self.kind {
            Kind::Flag => return "0 or 1".into(),
            Kind::Choice => {
                let words: Vec<_> = self.choices.iter().map(|c| format!("{} ({})", c.value, text(c.name))).collect();
                let (last, others) = words.split_last().expect("a choice has values");
                return format!("{} or {last}", others.join(", "));
            }
            Kind::Float | Kind::Integer => (),
        }
        // The largest number of an integer's field is not worth a mention, unless it is exceeded.
        let most = if self.kind == Kind::Float { f64::INFINITY } else { u32::MAX.into() };
        let bounded = [self.minimum.is_finite(), self.maximum < most || value > self.maximum];
        let what = match (self.kind, self.power_of_two) {
            (Kind::Float, _) => "",
            (_, true) => "a power of two ",
            _ if bounded == [true, true] => "a whole number ",
            _ => "a whole number of ",
        };
        let lower = if self.minimum_excluded { "greater than" } else { "at least" };
        let upper = if self.maximum_excluded { "less than" } else { "at most" };
        let range = match bounded {
            [true, true] if !self.minimum_excluded && !self.maximum_excluded => format!("from {low} to {high}"),
            [true, true] => format!("{lower} {low} and {upper} {high}"),
            [true, false] => format!("{lower} {low}"),
            [false, true] => format!("{upper} {high}"),
            [false, false] => "a finite number".into(),
        };
        format!("{what}{range}")
    }
}

/// Refuses two ends of a range if one is outside its own allowed range, or if they are in the wrong order.
pub(crate) fn check_ends(low: &Parameter, high: &Parameter, ends: [f64; 2]) -> Result<()> {
    low.check_given(ends[0])?;
    high.check_given(ends[1])?;
    if ends[0] < ends[1] {
        return Ok(());
    }
    let [from, to] = ends.map(number);
    Err(Error::argument(format!("{} ({from}) must be less than {} ({to})", text(low.name), text(high.name))))
}

/// Refuses ends as [`check_ends`] does, and refuses any ends for an image that is not f32, because only f32 pixels are
/// scaled.
pub(crate) fn check_scaling(
    low: &Parameter,
    high: &Parameter,
    range: Option<[f64; 2]>,
    pixel_type: PixelType,
) -> Result<()> {
    let Some(range) = range else { return Ok(()) };
    check_ends(low, high, range)?;
    if pixel_type == PixelType::F32 {
        return Ok(());
    }
    Err(Error::argument(format!(
        "range_min and range_max scale {} images only, but the input is {pixel_type}; leave them out",
        PixelType::F32
    )))
}

/// The two ends of a range, or `None` where both are automatic.
pub(crate) fn ends(low: &Parameter, high: &Parameter, ends: [f64; 2]) -> Result<Option<[f64; 2]>> {
    match (low.unless_automatic(ends[0]), high.unless_automatic(ends[1])) {
        (None, None) => Ok(None),
        (Some(low), Some(high)) => Ok(Some([low, high])),
        _ => Err(Error::argument(format!(
            "{} and {} must both be given, or both be automatic; give the other one, too",
            text(low.name),
            text(high.name)
        ))),
    }
}

/// A table's text, which is UTF-8.
fn text(text: &CStr) -> &str {
    text.to_str().unwrap_or_default()
}

/// Compile-time equality of two texts.
pub(crate) const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_whole() {
        for operation in crate::OPERATIONS {
            let mut names = Vec::new();
            for parameter in operation.parameters {
                let name = parameter.name.to_str().unwrap();
                assert!(!names.contains(&name), "{name} twice");
                names.push(name);
                parameter.check(parameter.default).unwrap();
                let help = parameter.help.to_str().unwrap();
                assert!(help.ends_with('.') && !parameter.title.is_empty() && !help.contains('\n'), "{name}: {help}");
                assert!(parameter.choices.is_sorted_by(|a, b| a.value < b.value), "{name}");
                for choice in parameter.choices {
                    assert!(choice.help.to_str().unwrap().ends_with('.') && !choice.title.is_empty(), "{name}");
                }
            }
        }
    }

    #[test]
    fn a_refusal_says_what_was_wanted_and_what_it_is() {
        let refusal = |parameter: Parameter, value| parameter.check(value).unwrap_err().message().to_owned();
        let float = Parameter::float(c"share", c"Share", 0.5, c"Help.");
        assert_eq!(refusal(float, f64::NAN), "share must be a finite number, but it is NaN");
        assert_eq!(refusal(float.above(0.0), 0.0), "share must be greater than 0, but it is 0");
        assert_eq!(refusal(float.at_least(1e-18), 1e-20), "share must be at least 1e-18, but it is 1e-20");
        let share = float.above(0.0).at_most(1.0).unit(c"voxels");
        assert_eq!(refusal(share, 1.5), "share must be greater than 0 and at most 1 (voxels), but it is 1.5");
        let wide = float.at_least(-1e30).at_most(1e30);
        assert_eq!(refusal(wide, 2e30), "share must be from -1e30 to 1e30, but it is 2e30");
        let share = float.at_least(0.0).at_most(1.0).automatic(c"The mean.");
        assert_eq!(refusal(share, -1.0), "share must be from 0 to 1, or automatic, but it is -1");
        share.check(AUTOMATIC).unwrap();
        share.check_given(AUTOMATIC).unwrap_err();
        let count = Parameter::integer(c"count", c"Count", 4, c"Help.").at_least(1.0);
        assert_eq!(refusal(count, 0.0), "count must be a whole number of at least 1, but it is 0");
        assert_eq!(
            refusal(count.advice("raise it"), 2.5),
            "count must be a whole number of at least 1, but it is 2.5; raise it"
        );
        refusal(count, 4294967296.0);
        let power = count.at_most(64.0).power_of_two();
        assert_eq!(refusal(power, 6.0), "count must be a power of two from 1 to 64, but it is 6");
        const CHOICES: [Choice; 2] = [Choice::new(2, c"slices", c"", c""), Choice::new(3, c"volume", c"", c"")];
        let choice = Parameter::choice(c"as", c"As", 2, &CHOICES, c"Help.");
        assert_eq!(refusal(choice, 4.0), "as must be 2 (slices) or 3 (volume), but it is 4");
        assert_eq!(choice.chosen(3, &['s', 'v']).unwrap(), 'v');
        choice.chosen(1, &['s', 'v']).unwrap_err();
    }
}
