//! Numbers as people read them: three significant digits, a unit, no trailing zeros.

/// Shares of a window that decide how grave something is, the largest first: what is under one never prints as it.
pub const DECISIVE_SHARES: [f64; 3] = [0.20, 0.05, 0.01];

const NOT_A_NUMBER: &str = "n/a";
const DURATIONS: &[(u64, &str)] = &[(1, "ns"), (1_000, "µs"), (1_000_000, "ms"), (1_000_000_000, "s")];
const SIZES: &[(u64, &str)] = &[
    (1, "B"),
    (1_000, "kB"),
    (1_000_000, "MB"),
    (1_000_000_000, "GB"),
    (1_000_000_000_000, "TB"),
    (1_000_000_000_000_000, "PB"),
];

/// Nanoseconds as `1.23 s`, `940 ms`, `5.3 µs`, `0 ns`.
pub fn duration(ns: i64) -> String {
    format!("{}{}", minus(ns), scaled(ns.unsigned_abs(), DURATIONS))
}

/// Bytes in decimal units: `55.2 GB`.
pub fn bytes(bytes: i64) -> String {
    format!("{}{}", minus(bytes), scaled(bytes.unsigned_abs(), SIZES))
}

/// A rate in 1e9 bytes a second as `24.1 GB/s`, or `53 MB/s` where that reads better.
pub fn gb_per_s(gb_per_s: f64) -> String {
    if !gb_per_s.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let sign = if gb_per_s < 0.0 { "-" } else { "" };
    format!("{sign}{}/s", scaled((gb_per_s.abs() * 1e9).round() as u64, SIZES))
}

/// A share of one as `97 %`, `9.4 %`, `<0.1 %`; `100 %` only from 99.95 % on, `20 %` only from there on.
pub fn percent(share: f64) -> String {
    let text = rounded_percent(share);
    let is_under = |limit: &f64| share < *limit && text == rounded_percent(*limit);
    match DECISIVE_SHARES.iter().any(is_under) {
        true => under(share, &text),
        false => text,
    }
}

/// With a decimal, rounded down where it would read as the limit all the same.
fn under(share: f64, limit: &str) -> String {
    let written = |percent: f64| format!("{} %", trim(&format!("{percent:.1}")));
    let rounded = written(share * 100.0);
    if rounded == limit { written((share * 1_000.0).floor() / 10.0) } else { rounded }
}

fn rounded_percent(share: f64) -> String {
    if !share.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let sign = if share < 0.0 { "-" } else { "" };
    let percent = share.abs() * 100.0;
    let digits = match percent {
        0.0 => return "0 %".to_owned(),
        p if p < 0.1 => return format!("{}0.1 %", if share < 0.0 { ">-" } else { "<" }),
        // A float a hair under 99.95 must not print as 100.0.
        p if (99.0..99.95).contains(&p) => format!("{:.1}", p.min(99.9)),
        p if p < 9.95 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    };
    format!("{sign}{} %", trim(&digits))
}

/// A share beside its target: with more digits where both would print alike although they differ.
pub fn percent_beside(share: f64, target: f64) -> String {
    let text = percent(share);
    if share == target || !share.is_finite() || text != percent(target) {
        return text;
    }
    finer_percent(share, &text)
}

/// With as many decimals as it takes to read otherwise.
fn finer_percent(share: f64, text: &str) -> String {
    let finer = |decimals: usize| format!("{} %", trim(&format!("{:.decimals$}", share * 100.0)));
    (1..4).map(finer).find(|finer| finer != text).unwrap_or_else(|| text.to_owned())
}

/// A duration beside its limit: with as many digits as it takes to see on which side of it it is. Both in nanoseconds.
pub fn duration_beside(ns: f64, limit: f64) -> String {
    scaled_beside(ns, limit, DURATIONS)
}

/// The same of sizes, in bytes.
pub fn bytes_beside(bytes: f64, limit: f64) -> String {
    scaled_beside(bytes, limit, SIZES)
}

/// The same of shares.
pub fn share_beside(share: f64, limit: f64) -> String {
    let text = percent(share);
    if is_clear(&text, 0.01, share, limit) { text } else { finer(share, limit, 0.01, "%") }
}

fn scaled_beside(value: f64, limit: f64, units: &[(u64, &str)]) -> String {
    let whole = value.abs().round() as u64;
    let index = units.iter().rposition(|(size, _)| whole >= *size).unwrap_or(0);
    let text = format!("{}{}", minus(value.round() as i64), scaled(whole, units));
    match units.get(index) {
        Some((size, unit)) if !is_clear(&text, *size as f64, value, limit) => finer(value, limit, *size as f64, unit),
        _ => text,
    }
}

/// Whether what is printed is on the same side of the limit as the number.
fn is_clear(text: &str, size: f64, value: f64, limit: f64) -> bool {
    let digits = text.split(' ').next().unwrap_or(text).replace(',', "");
    // `<0.1 %` and what rounds up to the next unit read differently anyway.
    digits.parse::<f64>().is_ok_and(|read| (read * size).total_cmp(&limit) == value.total_cmp(&limit))
}

fn finer(value: f64, limit: f64, size: f64, unit: &str) -> String {
    let printed = |decimals: usize| format!("{:.decimals$} {unit}", value / size);
    let least = if value / size < 10.0 { 2 } else { usize::from(value / size < 100.0) };
    let text = (least..10).map(printed).find(|text| is_clear(text, size, value, limit)).unwrap_or_else(|| printed(10));
    match text.split_once(' ') {
        Some((digits, unit)) => format!("{} {unit}", trim(digits)),
        None => text,
    }
}

/// A count with its thousands apart: `18,320`.
pub fn count(count: i64) -> String {
    format!("{}{}", minus(count), thousands(count.unsigned_abs()))
}

/// A number that something is called by, or a version: its digits, and nothing between them.
pub fn id(id: i64) -> String {
    id.to_string()
}

/// A plain number with three significant digits: `1.25`, `0.0417`, `18,300`.
pub fn number(number: f64) -> String {
    if !number.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{}", significant(number.abs()))
}

/// A clock: `1,410 MHz`.
pub fn mhz(mhz: f64) -> String {
    if mhz.is_finite() { format!("{} MHz", count(mhz.round() as i64)) } else { NOT_A_NUMBER.to_owned() }
}

/// Three significant digits of a size, without trailing zeros.
fn significant(size: f64) -> String {
    if size == 0.0 {
        return "0".to_owned();
    }
    let power = size.log10().floor() as i32;
    if power > 2 {
        let step = 10f64.powi(power - 2);
        return thousands(((size / step).round() * step).round() as u64);
    }
    // Far below one there is nothing to see: a billionth is the finest.
    let decimals = (2 - power).clamp(0, 9) as usize;
    trim(&format!("{size:.decimals$}")).to_owned()
}

/// A time since the start of the capture, as the Nsight GUI shows it: `12.345678s`.
pub fn instant(ns: i64) -> String {
    let micros = (ns.unsigned_abs() + 500) / 1_000;
    format!("{}{}.{:06}s", minus(ns), micros / 1_000_000, micros % 1_000_000)
}

/// How often a second: `193,000/s`, three significant digits.
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let sign = if per_s < 0.0 { "-" } else { "" };
    let size = per_s.abs();
    let digits = match size {
        s if s >= 99.95 => {
            let step = 10f64.powi((s.log10().floor() as i32 - 2).max(0));
            thousands(((s / step).round() * step).round() as u64)
        }
        s if s >= 9.995 => trim(&format!("{s:.1}")).to_owned(),
        s => trim(&format!("{s:.2}")).to_owned(),
    };
    format!("{sign}{digits}/s")
}

/// A factor: `1.9x`, `12x`; two decimals under 1.1, where they matter.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOT_A_NUMBER.to_owned();
    }
    let digits = match ratio.abs() {
        r if r < 1.095 => format!("{ratio:.2}"),
        r if r < 9.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    };
    format!("{}x", trim(&digits))
}

fn minus(value: i64) -> &'static str {
    if value < 0 { "-" } else { "" }
}

/// Three significant digits in the largest unit that leaves at least 1, and never `1000` of a unit that has a larger.
fn scaled(value: u64, units: &[(u64, &str)]) -> String {
    let index = units.iter().rposition(|(size, _)| value >= *size).unwrap_or(0);
    let Some((size, unit)) = units.get(index) else { return value.to_string() };
    let (wide, size) = (u128::from(value), u128::from(*size));
    let decimals = if wide < 10 * size { 2 } else { usize::from(wide < 100 * size) };
    let tens = 10u128.pow(decimals as u32);
    let rounded = (wide * tens + size / 2) / size;
    if decimals == 0 && rounded >= 1_000 {
        return match units.get(index + 1) {
            Some((_, larger)) => format!("1 {larger}"),
            None => format!("{} {unit}", thousands(u64::try_from(rounded).unwrap_or(u64::MAX))),
        };
    }
    let digits = format!("{}.{:0decimals$}", rounded / tens, rounded % tens);
    format!("{} {unit}", trim(&digits))
}

/// Without zeros behind the point, and without a point that nothing follows.
fn trim(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_keep_three_digits_and_never_reach_a_thousand() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (5_300, "5.3 µs"),
            (9_996, "10 µs"),
            (99_960, "100 µs"),
            (940_000_000, "940 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1 s"),
            (1_234_000_000, "1.23 s"),
            (-1_234_000_000, "-1.23 s"),
            (123_400_000_000, "123 s"),
            (5_400_000_000_000, "5,400 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(duration(i64::MIN), "-9,223,372,037 s");
    }

    #[test]
    fn plain_numbers_ids_and_clocks() {
        let cases =
            [(0.0, "0"), (1.25, "1.25"), (0.041_66, "0.0417"), (18_320.0, "18,300"), (12.0, "12"), (-9.996, "-10")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!((number(f64::NAN), number(1e-300)), ("n/a".to_owned(), "0".to_owned()));
        assert_eq!((id(70_007), mhz(1_410.4)), ("70007".to_owned(), "1,410 MHz".to_owned()));
    }

    #[test]
    fn sizes_and_rates() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(55_210_000_000), "55.2 GB");
        assert_eq!(bytes(999_999), "1 MB");
        assert_eq!(gb_per_s(24.06), "24.1 GB/s");
        assert_eq!(gb_per_s(0.053), "53 MB/s");
        assert_eq!(rate(193_456.0), "193,000/s");
        assert_eq!(rate(999.6), "1,000/s");
        assert_eq!(rate(99.96), "100/s");
        assert_eq!(rate(5.25), "5.25/s");
        assert_eq!(rate(0.0), "0/s");
        assert_eq!(ratio(1.94), "1.9x");
        assert_eq!(ratio(1.052), "1.05x");
        assert_eq!(ratio(1.0), "1x");
        assert_eq!(ratio(32.4), "32x");
        assert_eq!(count(18_320), "18,320");
        assert_eq!(count(-1_000), "-1,000");
        assert_eq!(instant(12_345_678_400), "12.345678s");
        assert_eq!(instant(999_999_999), "1.000000s");
    }

    #[test]
    fn percent_is_honest_at_both_ends() {
        let cases = [
            (0.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.004, "0.4 %"),
            (0.094, "9.4 %"),
            (0.0996, "10 %"),
            (0.04996, "4.9 %"),
            (0.1976, "19.8 %"),
            (0.05, "5 %"),
            (0.97, "97 %"),
            (0.998, "99.8 %"),
            (0.9994, "99.9 %"),
            (0.99949, "99.9 %"),
            (0.9995, "100 %"),
            (1.0, "100 %"),
            (1.5, "150 %"),
            (-0.05, "-5 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
        assert_eq!(percent(f64::NAN), "n/a");
        assert_eq!(percent_beside(0.8477, 0.85), "84.8 %");
        assert_eq!(percent_beside(0.84907, 0.85), "84.9 %");
        assert_eq!(percent_beside(0.84996, 0.85), "84.996 %");
        assert_eq!(percent_beside(0.85002, 0.85), "85.002 %");
        assert_eq!(percent_beside(0.5, 0.85), "50 %");
        assert_eq!(percent_beside(0.85, 0.85), "85 %");
    }

    #[test]
    fn numbers_beside_a_limit_show_on_which_side_they_are() {
        assert_eq!(duration_beside(33_300_000.0, 10e6), "33.3 ms");
        assert_eq!(duration_beside(10_000_400.0, 10e6), "10.0004 ms");
        assert_eq!(duration_beside(9_999_999.0, 10e6), "9.999999 ms");
        assert_eq!(duration_beside(10e6, 10e6), "10 ms");
        assert_eq!(bytes_beside(1_500_001.0, 1.5e6), "1.500001 MB");
        assert_eq!(share_beside(0.2621, 0.26), "26.2 %");
        assert_eq!(share_beside(0.26151, 0.2615), "26.2 %");
        assert_eq!(share_beside(0.26149, 0.2615), "26 %");
        assert_eq!(share_beside(0.07, 0.07), "7 %");
        assert_eq!(share_beside(0.26, 0.26), "26 %");
        assert_eq!(share_beside(0.5, 0.26), "50 %");
    }

    proptest! {
        #[test]
        fn a_duration_reads_back_within_half_a_percent(ns in 1i64..1_000_000_000_000) {
            let text = duration(ns);
            let text = text.replace(',', "");
            let (digits, unit) = text.split_once(' ').unwrap();
            let size = match unit { "ns" => 1.0, "µs" => 1e3, "ms" => 1e6, _ => 1e9 };
            let read = digits.parse::<f64>().unwrap() * size;
            prop_assert!((read - ns as f64).abs() <= 0.005_01 * ns as f64, "{ns} prints as {text}");
            prop_assert!(unit == "s" || digits.parse::<f64>().unwrap() < 1000.0);
        }

        #[test]
        fn nothing_panics(ns: i64, number: f64) {
            for text in [duration(ns), bytes(ns), count(ns), instant(ns), percent(number), gb_per_s(number), rate(number), ratio(number)] {
                prop_assert!(!text.is_empty());
            }
        }
    }
}
