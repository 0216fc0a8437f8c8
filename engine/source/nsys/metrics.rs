//! Sampled GPU metrics, in the layout of tables (2023 and later) and of JSON events (before).

use std::collections::BTreeMap;
use std::fmt;

use foldhash::HashMap;
use rusqlite::Connection;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::database::Schema;
use crate::timeline::{Metric, MetricSeries};

/// Longer events are no samples: these have a few dozen names.
const MAX_SAMPLE_BYTES: usize = 1 << 20;

/// Names of the metrics that facts are made of, older and newer ones, in lower case and without unit.
const NAMES: [(&str, Metric); 16] = [
    ("sm active", Metric::SmActive),
    ("sms active", Metric::SmActive),
    ("sm issue", Metric::SmIssue),
    ("tensor active", Metric::TensorActive),
    ("tensor active / fp16 active", Metric::TensorActive),
    ("gr active", Metric::GrActive),
    ("gpu active", Metric::GrActive),
    ("dram read throughput", Metric::DramRead),
    ("dram read bandwidth", Metric::DramRead),
    ("dram write throughput", Metric::DramWrite),
    ("dram write bandwidth", Metric::DramWrite),
    ("pcie rx throughput", Metric::PcieRx),
    ("pcie tx throughput", Metric::PcieTx),
    ("gpc clock frequency", Metric::GpcClock),
    ("pcie read throughput", Metric::PcieRx),
    ("pcie write throughput", Metric::PcieTx),
];

fn metric(name: &str) -> Option<Metric> {
    let base = name.split('[').next().unwrap_or(name).trim().to_ascii_lowercase();
    NAMES.iter().find(|(known, _)| *known == base).map(|(_, metric)| *metric)
}

type Samples = BTreeMap<(i64, Metric), Vec<(i64, f32)>>;

/// Every series that facts are made of.
pub(super) fn read(db: &Connection, schema: &Schema) -> rusqlite::Result<Vec<MetricSeries>> {
    let mut samples = Samples::new();
    read_tables(db, schema, &mut samples)?;
    if samples.is_empty() {
        read_json(db, schema, &mut samples)?;
    }
    Ok(samples.into_iter().map(|((gpu, metric), samples)| series(gpu, metric, samples)).collect())
}

fn series(gpu: i64, metric: Metric, mut samples: Vec<(i64, f32)>) -> MetricSeries {
    samples.sort_by_key(|(time, _)| *time);
    let (time_ns, value) = samples.into_iter().unzip();
    MetricSeries { gpu, metric, time_ns, value }
}

/// A sample in the metric's unit; percentages outside 0 to 100 and clocks that no GPU has are noise of the capture.
fn in_unit(metric: Metric, raw: f64) -> Option<f32> {
    match metric {
        // Exporters write Hz, in 32 bits that may have wrapped, or MHz.
        Metric::GpcClock => {
            let hertz = if raw < 0.0 { raw + 4_294_967_296.0 } else { raw };
            let mhz = if hertz > 100_000.0 { hertz / 1e6 } else { hertz };
            (mhz > 0.0 && mhz < 10_000.0).then_some(mhz as f32)
        }
        _ => (0.0..=100.0).contains(&raw).then_some(raw as f32),
    }
}

fn read_tables(db: &Connection, schema: &Schema, samples: &mut Samples) -> rusqlite::Result<()> {
    if !schema.has("TARGET_INFO_GPU_METRICS") || !schema.has("GPU_METRICS") {
        return Ok(());
    }
    let mut wanted: HashMap<(i64, i64), Metric> = HashMap::default();
    let sql = schema.select("TARGET_INFO_GPU_METRICS", &["typeId", "metricId", "metricName"]);
    schema.each(db, &sql, u64::MAX, |cells| {
        if let (Some(kind), Some(id), Some(metric)) = (cells.int(0), cells.int(1), cells.text(2).and_then(metric)) {
            wanted.insert((kind, id), metric);
        }
    })?;
    let sql = schema.select("GPU_METRICS", &["timestamp", "typeId", "metricId", "value", "rawTimestamp"]);
    schema.each(db, &sql, u64::MAX, |cells| {
        let time = cells.int(0).or_else(|| cells.int(4));
        let (Some(time), Some(kind), Some(id), Some(value)) = (time, cells.int(1), cells.int(2), cells.int(3)) else {
            return;
        };
        if let Some(metric) = wanted.get(&(kind, id)) {
            push(samples, kind, *metric, time, value as f64);
        }
    })
}

/// The GPU is the last byte of the type; samples from before the capture began are left out.
fn push(samples: &mut Samples, kind: i64, metric: Metric, time: i64, value: f64) {
    if let Some(value) = in_unit(metric, value).filter(|_| time >= 0) {
        samples.entry((kind & 0xFF, metric)).or_default().push((time, value));
    }
}

/// Exporters up to 2022 write one JSON object a sample, its values as strings.
fn read_json(db: &Connection, schema: &Schema, samples: &mut Samples) -> rusqlite::Result<()> {
    if !schema.has("GENERIC_EVENTS") {
        return Ok(());
    }
    let sql = schema.select("GENERIC_EVENTS", &["timestamp", "rawTimestamp", "typeId", "data"]);
    schema.each(db, &sql, u64::MAX, |cells| {
        let time = cells.int(0).or_else(|| cells.int(1));
        let (Some(time), Some(kind), Some(data)) = (time, cells.int(2), cells.text(3)) else { return };
        if data.len() > MAX_SAMPLE_BYTES {
            return;
        }
        let Ok(Sample(values)) = serde_json::from_str(data) else { return };
        for (name, number) in values {
            if let Some(metric) = metric(&name) {
                push(samples, kind, metric, time, number);
            }
        }
    })
}

/// The metrics of one JSON object by name, and nothing else of it.
struct Sample(BTreeMap<String, f64>);

/// The number that a value is, or that its text says; `None` for anything else, of which nothing is kept.
struct Number(Option<f64>);

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SampleVisitor)
    }
}

struct SampleVisitor;

impl<'de> Visitor<'de> for SampleVisitor {
    type Value = Sample;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Sample, A::Error> {
        let mut values = BTreeMap::new();
        while let Some(name) = object.next_key::<String>()? {
            if metric(&name).is_none() {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            // The last of a name counts.
            match object.next_value::<Number>()? {
                Number(Some(number)) => _ = values.insert(name, number),
                Number(None) => _ = values.remove(&name),
            }
        }
        Ok(Sample(values))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
        Ok(Number(None))
    }

    fn visit_unit<E>(self) -> Result<Number, E> {
        Ok(Number(None))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
        Ok(Number(Some(number as f64)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
        Ok(Number(Some(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
        Ok(Number(Some(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.trim().parse().ok()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Number, A::Error> {
        while array.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Number(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Number, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_without_unit_and_case() {
        assert_eq!(metric("SMs Active [Throughput %]"), Some(Metric::SmActive));
        assert_eq!(metric("SM Active"), Some(Metric::SmActive));
        assert_eq!(metric("PCIe RX Throughput"), Some(Metric::PcieRx));
        assert_eq!(metric("Pixel Warps In Flight"), None);
    }

    #[test]
    fn clocks_come_in_hertz_that_wrapped() {
        assert_eq!(in_unit(Metric::GpcClock, -1_964_454_041.0), Some(2_330.513_2));
        assert_eq!(in_unit(Metric::GpcClock, 1_695.0), Some(1_695.0));
        assert_eq!(in_unit(Metric::SmActive, 250.0), None);
    }
}
