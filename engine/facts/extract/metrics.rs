//! Facts of sampled GPU metrics, and how full the multiprocessors were by the best source there is.

use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::union::Union;
use crate::timeline::{Metric, MetricSeries};

/// The metrics averaged over the samples that fall on compute time.
const WHILE_COMPUTING: [(&str, Metric); 3] = [
    ("sampled_sm_active_share", Metric::SmActive),
    ("sampled_sm_issue_share", Metric::SmIssue),
    ("sampled_tensor_active_share", Metric::TensorActive),
];

/// The metrics averaged over the whole window.
const WHOLE_WINDOW: [(&str, Metric); 4] = [
    ("sampled_sm_active_window_share", Metric::SmActive),
    ("sampled_gr_active_window_share", Metric::GrActive),
    ("sampled_pcie_rx_share", Metric::PcieRx),
    ("sampled_pcie_tx_share", Metric::PcieTx),
];

/// Fewer samples than this on compute time say nothing of it.
const ENOUGH_SAMPLES: usize = 10;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let number = context.timeline.devices[device.ops.device as usize].number;
    let series =
        |metric: Metric| context.timeline.metrics.iter().find(|series| series.gpu == number && series.metric == metric);
    let window = Union::of([device.window()]);
    let computing = &device.tally.kernels_run;
    let mean =
        |metric: Metric, within: &Union, take: Take| series(metric).and_then(|series| mean(series, within, take));
    for (name, metric) in WHILE_COMPUTING {
        facts.set_some(name, mean(metric, computing, Take::WholePeriods).map(share));
    }
    for (name, metric) in WHOLE_WINDOW {
        facts.set_some(name, mean(metric, &window, Take::Moments).map(share));
    }
    let dram = mean(Metric::DramRead, computing, Take::WholePeriods).zip(mean(
        Metric::DramWrite,
        computing,
        Take::WholePeriods,
    ));
    facts.set_some("sampled_dram_share", dram.map(|(read, write)| share(read + write).min(1.0)));
    if let Some(clock) = series(Metric::GpcClock) {
        let values = values_within(clock, computing, Take::WholePeriods);
        if values.len() >= ENOUGH_SAMPLES {
            facts.set("sampled_clock_mean_mhz", values.iter().sum::<f64>() / values.len() as f64);
            facts.set("sampled_clock_max_mhz", values.iter().copied().fold(0.0, f64::max));
        }
    }
    if let Some(active) = series(Metric::SmActive) {
        facts.set("sample_count", values_within(active, &window, Take::Moments).len() as i64);
    }
    let sampled = mean(Metric::SmActive, computing, Take::WholePeriods).map(share);
    let derived = device.tally.sm_filled_share();
    let best = sampled.map(|share| (share, "sampled")).or(derived.map(|share| (share, "derived")));
    facts.set_some("sm_active_share", best.map(|(share, _)| share));
    facts.set_some("sm_active_source", best.map(|(_, source)| source));
}

fn share(percent: f64) -> f64 {
    percent / 100.0
}

/// Which samples belong to a union of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Take {
    /// Those taken in it.
    Moments,
    /// Those whose whole period lies in it: a sample stands for the time since the one before, and a short kernel's
    /// would mostly speak of the time around it.
    WholePeriods,
}

/// The values of the samples that belong to a union.
fn values_within(series: &MetricSeries, within: &Union, take: Take) -> Vec<f64> {
    let reach = if take == Take::WholePeriods { period(series) } else { 0 };
    let mut parts = within.parts().peekable();
    let mut values = Vec::new();
    for (time, value) in series.time_ns.iter().zip(&series.value) {
        while parts.next_if(|part| part.end < *time).is_some() {}
        if parts.peek().is_some_and(|part| part.start <= time - reach) {
            values.push(f64::from(*value));
        }
    }
    values
}

/// The usual distance of two samples.
fn period(series: &MetricSeries) -> i64 {
    let mut distances: Vec<i64> = series.time_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    super::stats::median(&mut distances).unwrap_or(0)
}

fn mean(series: &MetricSeries, within: &Union, take: Take) -> Option<f64> {
    let values = values_within(series, within, take);
    (values.len() >= ENOUGH_SAMPLES).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
