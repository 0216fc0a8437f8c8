//! The history of a program: as Markdown, JSON, and a page of HTML with a chart.

use serde_json::{Value, json};

use super::{markup, spans};
use crate::compare::signed;
use crate::history::{ChangePoint, History, LeftOut, Point, TimeOf, Trend};
use crate::text::plural::counted;
use crate::text::spans::Sentence;
use crate::text::{escape, number};

/// The version of the JSON.
const SCHEMA: &str = "coldspot.history/1";
/// The latest points that tables list.
const MAX_LINES: usize = 60;
/// Findings that are listed.
const MAX_TRENDS: usize = 30;

/// As Markdown: what changed, the points, and findings that came, went or grew.
pub fn history_markdown(history: &History) -> String {
    let mut out = format!("# coldspot history\n\n**{}**\n\n", spans::markdown(&verdict(history)));
    for change in history.changes.iter().rev().skip(1) {
        let label = label(history, change.index);
        out.push_str(&format!(
            "- {} since {}: {}\n",
            way(change),
            escape::code(label),
            escape::markdown(&size(change))
        ));
    }
    if history.points.is_empty() {
        return out;
    }
    out.push_str(&format!(
        "\n| | runs | {} | against before | findings high, medium, low |\n|---|---|---|---|---|\n",
        what(history.of)
    ));
    for (index, point) in history.points.iter().enumerate().skip(history.points.len().saturating_sub(MAX_LINES)) {
        let mark = history.changes.iter().find(|change| change.index == index);
        let against =
            mark.map_or_else(|| against_before(history, index), |change| format!("**{}**", signed(change.share)));
        let counts = &point.counts;
        out.push_str(&format!(
            "| {} | {} | {} | {against} | {}, {}, {} |\n",
            escape::code(point.label.text()),
            point.run_count,
            escape::markdown(&time(point)),
            counts.high,
            counts.medium,
            counts.low,
        ));
    }
    trends_markdown(&mut out, history);
    for told in beside(history) {
        out.push_str(&format!("\n{}\n", spans::markdown(&told)));
    }
    out
}

/// What the points do not hold: runs that are left out, and rules that went wrong.
fn beside(history: &History) -> Vec<Sentence> {
    let named = |words: &str, names: Vec<(&str, String)>| {
        let told = names
            .iter()
            .take(MAX_LINES)
            .enumerate()
            .fold(Sentence::default().own(words), |told, (index, (name, why))| {
                told.own(if index > 0 { ", " } else { "" }).code(name).own(why)
            });
        let more = names.len().saturating_sub(MAX_LINES);
        (!names.is_empty()).then(|| told.own(&if more > 0 { format!(" and {more} more.") } else { ".".to_owned() }))
    };
    let of = |why: fn(&LeftOut) -> Option<String>| {
        let meant = history.left_out.iter().filter_map(move |(label, of)| Some((label.text(), why(of)?)));
        meant.collect::<Vec<_>>()
    };
    let without = of(|why| (*why == LeftOut::NoTime).then(String::new));
    let incomplete = of(|why| match why {
        LeftOut::Incomplete(what) => Some(format!(" ({what})")),
        LeftOut::NoTime | LeftOut::Other(_) => None,
    });
    let others = of(|why| match why {
        LeftOut::Other(what) => Some(format!(" ({what})")),
        LeftOut::NoTime | LeftOut::Incomplete(_) => None,
    });
    let failed = history.failures.iter();
    let failed = failed.map(|failed| {
        (failed.rule.as_str(), format!(" {} on {}", failed.first.what(), counted(failed.run_count, "run")))
    });
    let told = [
        named(&format!("Left out, without a {}: ", what(history.of)), without),
        named("Left out, since work of the GPU is missing: ", incomplete),
        named("Left out, since most runs are other ones: ", others),
        named("What these rules would find is not told: ", failed.collect()),
    ];
    told.into_iter().flatten().collect()
}

fn trends_markdown(out: &mut String, history: &History) {
    if history.trends.is_empty() {
        return;
    }
    out.push_str("\n## Findings that came, went or moved\n\n| finding | severity | first | last | share of the window |\n|---|---|---|---|---|\n");
    for trend in history.trends.iter().take(MAX_TRENDS) {
        let Some((first, last)) = seen(trend) else { continue };
        let title = format!("{} ({})", trend.title, trend.subject.plain());
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            escape::markdown(&title),
            trend.severity.name(),
            escape::code(label(history, first)),
            if last + 1 == history.points.len() {
                "still there".to_owned()
            } else {
                escape::code(label(history, last))
            },
            shares(trend, first, last),
        ));
    }
    let more = history.trends.len().saturating_sub(MAX_TRENDS);
    if more > 0 {
        out.push_str(&format!("\n{more} more are not listed.\n"));
    }
}

/// As one JSON object.
///
/// # Errors
/// Never for what a history holds.
pub fn history_json(history: &History) -> serde_json::Result<String> {
    let points: Vec<Value> = history.points.iter().map(point_json).collect();
    let changes: Vec<Value> = history
        .changes
        .iter()
        .map(|change| {
            let ChangePoint { index, before_ns, after_ns, share, chance } = change;
            json!({
                "index": index, "label": label(history, *index), "commit": history.begin(change).and_then(|point| point.label.commit()),
                "before_ns": before_ns.round(), "after_ns": after_ns.round(), "share": share, "chance": chance,
            })
        })
        .collect();
    let trends: Vec<Value> = history
        .trends
        .iter()
        .map(|trend| {
            json!({
                "fingerprint": trend.fingerprint, "title": trend.title, "subject": trend.subject.plain(),
                "severity": trend.severity.name(), "shares": trend.shares,
            })
        })
        .collect();
    let left_out: Vec<&str> = history.left_out.iter().map(|(label, _)| label.text()).collect();
    let mut incomplete: Vec<Value> = Vec::new();
    let mut other: Vec<Value> = Vec::new();
    for (label, why) in &history.left_out {
        match why {
            LeftOut::NoTime => {}
            LeftOut::Incomplete(what) => incomplete.push(json!({ "label": label.text(), "why": what })),
            LeftOut::Other(what) => other.push(json!({ "label": label.text(), "why": what })),
        }
    }
    let errors = history.failures.iter().map(|failed| {
        json!({ "rule": failed.rule, "runs": failed.run_count, "what": failed.first.what(), "message": failed.first.message })
    });
    let errors: Vec<Value> = errors.collect();
    let all = json!({
        "schema": SCHEMA, "coldspot": env!("CARGO_PKG_VERSION"), "of": history.of.name(), "verdict": verdict(history).plain(),
        "points": points, "changes": changes, "findings": trends, "left_out": left_out,
        "incomplete": incomplete, "other": other, "errors": errors,
    });
    Ok(escape::json(serde_json::to_string_pretty(&all)? + "\n"))
}

fn point_json(point: &Point) -> Value {
    json!({
        "label": point.label.text(), "commit": point.label.commit(), "runs": point.run_count, "time_ns": point.time_ns,
        "low_ns": point.range_ns[0], "high_ns": point.range_ns[1],
        "findings": { "high": point.counts.high, "medium": point.counts.medium, "low": point.counts.low },
    })
}

/// As a page of its own: no script, nothing from elsewhere.
pub fn history_html(history: &History) -> String {
    let rows: String =
        history.points.iter().enumerate().rev().map(|(index, point)| row_html(history, index, point)).collect();
    let trends: String =
        history.trends.iter().take(MAX_TRENDS).filter_map(|trend| trend_html(history, trend)).collect();
    let trends = if trends.is_empty() {
        String::new()
    } else {
        format!(
            "<h2>Findings that came, went or moved</h2>\n<table>\n<tr><th>finding<th>severity<th>first<th>last<th>share of the \
             window</tr>\n{trends}</table>\n"
        )
    };
    let beside: String = beside(history).iter().map(|told| format!("<p>{}</p>\n", html(&told.plain()))).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>coldspot history</title>\n<style>{STYLE}</style>\n\
         <h1>coldspot history</h1>\n<p><strong>{}</strong></p>\n{}<table>\n<tr><th><th>runs<th>{}<th>against \
         before<th>findings high, medium, low</tr>\n{rows}</table>\n{trends}{beside}</html>\n",
        html(&verdict(history).plain()),
        chart(history),
        what(history.of),
    )
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}\
table{border-collapse:collapse}td,th{padding:.2em .8em;border-bottom:1px solid #ccc;text-align:left}\
.up{color:#b00020}.down{color:#00693e}svg{width:100%;height:auto}code{font-size:90%}";

fn row_html(history: &History, index: usize, point: &Point) -> String {
    let mark = history.changes.iter().find(|change| change.index == index);
    let class = mark.map_or("", |change| if change.share > 0.0 { " class=\"up\"" } else { " class=\"down\"" });
    let against = mark
        .map_or_else(|| against_before(history, index), |change| format!("{} {}", way(change), signed(change.share)));
    let counts = &point.counts;
    format!(
        "<tr{class}><td><code>{}</code><td>{}<td>{}<td>{}<td>{}, {}, {}</tr>\n",
        html(point.label.text()),
        point.run_count,
        html(&time(point)),
        html(&against),
        counts.high,
        counts.medium,
        counts.low
    )
}

fn trend_html(history: &History, trend: &Trend) -> Option<String> {
    let (first, last) = seen(trend)?;
    let last_text = if last + 1 == history.points.len() { "still there" } else { label(history, last) };
    let title = format!("{} ({})", trend.title, trend.subject.plain());
    Some(format!(
        "<tr><td>{}<td>{}<td><code>{}</code><td>{}<td>{}</tr>\n",
        html(&title),
        trend.severity.name(),
        html(label(history, first)),
        html(last_text),
        html(&shares(trend, first, last))
    ))
}

/// Times as dots, means between changes as lines.
fn chart(history: &History) -> String {
    const SIZE: [f64; 2] = [900.0, 260.0];
    const EDGE: f64 = 20.0;
    let times: Vec<f64> = history.points.iter().map(|point| point.time_ns).collect();
    let (Some(high), true) = (times.iter().copied().reduce(f64::max), times.len() > 1) else { return String::new() };
    let low = times.iter().copied().fold(high, f64::min);
    let span = (high - low).max(high * 0.02);
    let x = |index: usize| EDGE + index as f64 * (SIZE[0] - 2.0 * EDGE) / (times.len() - 1) as f64;
    let y = |ns: f64| SIZE[1] - EDGE - (ns - low) / span * (SIZE[1] - 2.0 * EDGE);
    let dots: String = history
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| {
            let title = format!("{}: {}", point.label.text(), time(point));
            let (x, y) = (x(index), y(point.time_ns));
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{}</title></circle>\n", html(&title))
        })
        .collect();
    let ends: Vec<usize> = history.changes.iter().map(|change| change.index).chain([times.len()]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let lines: String = starts
        .zip(&ends)
        .filter(|(start, end)| start < end)
        .map(|(start, end)| {
            let mean = times[start..*end].iter().sum::<f64>() / (end - start) as f64;
            let (y, from, to) = (y(mean), x(start), x(end - 1));
            format!("<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#b00020\" stroke-width=\"2\"/>\n")
        })
        .collect();
    let words = [(EDGE - 6.0, high), (SIZE[1] - 2.0, low)];
    let words: String = words
        .iter()
        .map(|(at, ns)| {
            format!(
                "<text x=\"2\" y=\"{at:.1}\" font-size=\"12\">{}</text>\n",
                html(&number::duration(ns.round() as i64))
            )
        })
        .collect();
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over time\">\n{dots}{lines}{words}</svg>\n",
        SIZE[0],
        SIZE[1],
        what(history.of)
    )
}

/// What changed last, in one sentence.
fn verdict(history: &History) -> Sentence {
    let count = history.points.len();
    let words = Sentence::default();
    match history.changes.last() {
        _ if count == 0 => words.own("No run holds a time."),
        Some(change) => {
            let words =
                words.own(&format!("The last change: {} since ", way(change))).code(label(history, change.index));
            words.own(&format!(", {}.", size(change)))
        }
        None if count < 10 => words.own(&format!("No change is shown by {count} points: ten or more tell one.")),
        None => words.own(&format!("No change beyond the noise in {count} points.")),
    }
}

fn way(change: &ChangePoint) -> &'static str {
    if change.share > 0.0 { "slower" } else { "faster" }
}

/// `13.2 ms after 12.6 ms (+5.1 %), chance alone does that in 0.1 % of cases`.
fn size(change: &ChangePoint) -> String {
    let [before, after] = [change.before_ns, change.after_ns].map(|ns| number::duration(ns.round() as i64));
    let chance = number::percent(change.chance);
    format!("{after} after {before} ({}), which chance alone does in {chance} of cases at most", signed(change.share))
}

fn against_before(history: &History, index: usize) -> String {
    let before = index.checked_sub(1).and_then(|before| history.points.get(before));
    match (before, history.points.get(index)) {
        (Some(before), Some(point)) => signed(point.time_ns / before.time_ns - 1.0),
        _ => String::new(),
    }
}

fn time(point: &Point) -> String {
    let print = |ns: f64| number::duration(ns.round() as i64);
    let [low, high] = point.range_ns.map(print);
    if low == high { print(point.time_ns) } else { format!("{} ({low} to {high})", print(point.time_ns)) }
}

fn label(history: &History, index: usize) -> &str {
    history.points.get(index).map_or("", |point| point.label.text())
}

/// The first and the last point that have a finding.
fn seen(trend: &Trend) -> Option<(usize, usize)> {
    let first = trend.shares.iter().position(Option::is_some)?;
    Some((first, trend.shares.iter().rposition(Option::is_some)?))
}

fn shares(trend: &Trend, first: usize, last: usize) -> String {
    let print = |index: usize| trend.shares.get(index).copied().flatten().map(number::percent).unwrap_or_default();
    let [first, last] = [first, last].map(print);
    if first == last { first } else { format!("{first}, then {last}") }
}

const fn what(of: TimeOf) -> &'static str {
    match of {
        TimeOf::Step => "time of a step",
        TimeOf::Window => "GPU window",
    }
}

/// Text for content and attributes of HTML.
fn html(text: &str) -> String {
    markup::escaped(&escape::plain(text))
}
