//! Numbers by their decimal value, so that no digit is lost unnoticed.
//!
//! Text and double are compared as `significand × 10^exponent` with the trailing zeros of the
//! significand moved into the exponent. The shortest text of a double has at most 17 significant
//! digits, so a longer significand is refused without looking at its value.

use serde_json::Number;

const MAX_DIGITS: u32 = 17;

/// Far beyond any double, far below an overflow of the sums below.
const EXPONENT_BOUND: i64 = 1_000_000_000_000;

/// Doubles hold every integer up to here.
const EXACT_INTEGER: u64 = 1 << 53;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    significand: u64,
    exponent: i64,
}

/// The number of a text that already matches the JSON grammar, or `None` when a double would
/// change its decimal value.
pub(super) fn exact(text: &str) -> Option<Number> {
    let decimal = Decimal::parse(text)?;
    if decimal.significand == 0 {
        return if decimal.negative {
            Number::from_f64(-0.0)
        } else {
            Some(Number::from(0))
        };
    }
    let magnitude = decimal.integer();
    if magnitude.is_none_or(|integer| integer > EXACT_INTEGER) && !decimal.survives() {
        return None;
    }
    magnitude
        .and_then(|integer| signed_integer(decimal.negative, integer))
        .or_else(|| Number::from_f64(decimal.double()?))
}

fn signed_integer(negative: bool, magnitude: u64) -> Option<Number> {
    if negative {
        i64::try_from(-i128::from(magnitude)).ok().map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)),
            None => (unsigned, 0),
        };
        let (significand, shift) = significant_digits(mantissa)?;
        let exponent = if significand == 0 {
            0
        } else {
            exponent + shift
        };
        Some(Self {
            negative,
            significand,
            exponent,
        })
    }

    fn double(self) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        let double: f64 = format!("{sign}{}e{}", self.significand, self.exponent)
            .parse()
            .ok()?;
        double.is_finite().then_some(double)
    }

    /// A double that lies in the middle between two shortest texts is written either way: by
    /// JavaScript with the even digit, by others with the upper one.
    fn survives(self) -> bool {
        self.double().is_some_and(|double| {
            let spelled = |text: &str| Self::parse(text) == Some(self);
            spelled(&format!("{double:e}")) || spelled(ryu_js::Buffer::new().format(double))
        })
    }

    /// The magnitude as an integer, if it is one that fits.
    fn integer(self) -> Option<u64> {
        let exponent = u32::try_from(self.exponent).ok()?;
        self.significand.checked_mul(10_u64.checked_pow(exponent)?)
    }
}

/// The digits without leading and trailing zeros, and the power of ten that restores the value.
fn significant_digits(mantissa: &str) -> Option<(u64, i64)> {
    let (mut significand, mut count, mut zeros, mut shift) = (0_u64, 0_u32, 0_u32, 0_i64);
    let mut fraction = false;
    for byte in mantissa.bytes() {
        if byte == b'.' {
            fraction = true;
            continue;
        }
        if fraction {
            shift -= 1;
        }
        if byte == b'0' {
            zeros = if significand == 0 { 0 } else { zeros + 1 };
            continue;
        }
        count = count.checked_add(zeros)?.checked_add(1)?;
        if count > MAX_DIGITS {
            return None;
        }
        significand = significand * 10_u64.pow(zeros + 1) + u64::from(byte - b'0');
        zeros = 0;
    }
    Some((significand, shift + i64::from(zeros)))
}

fn saturating_exponent(text: &str) -> i64 {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = digits.bytes().fold(0_i64, |value, digit| {
        (value * 10 + i64::from(digit - b'0')).min(EXPONENT_BOUND)
    });
    sign * magnitude
}
