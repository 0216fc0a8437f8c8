//! Facts of sampled GPU metrics, and how full the SMs were by the best source there is.

use super::stats::median;
use super::{Context, DeviceContext};
use crate::facts::Entity;
use crate::timeline::union::Union;
use crate::timeline::{Metric, MetricSeries, Timeline};

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

/// Fewer samples in the window say nothing of it: all of them may straddle the edges of work.
const ENOUGH_OF_WINDOW: usize = 20;

/// Where kernels run for a smaller part of the window, what samples of all of it hold may be the work of another program.
const LEAST_RUN_SHARE: f64 = 0.1;

pub(super) fn extract(context: &Context<'_>, device: &DeviceContext, facts: &mut Entity) {
    let sampled = Sampled::new(context.timeline, device);
    for (name, metric) in WHILE_COMPUTING {
        facts.set_some(name, sampled.share(metric, During::Kernels));
    }
    for (name, metric) in WHOLE_WINDOW {
        facts.set_some(name, sampled.share(metric, During::Window));
    }
    let read = sampled.mean(Metric::DramRead, During::Kernels);
    let dram = read.zip(sampled.mean(Metric::DramWrite, During::Kernels));
    facts.set_some("sampled_dram_share", dram.map(|(read, write)| ((read + write) / 100.0).min(1.0)));
    if let Some(clocks) = sampled.enough(Metric::GpcClock, During::Kernels) {
        facts.set("sampled_clock_mean_mhz", mean(&clocks));
        facts.set("sampled_clock_max_mhz", clocks.iter().copied().fold(0.0, f64::max));
    }
    let sample_count = sampled.values(Metric::SmActive, During::Window).map(|all| all.len());
    facts.set_some("metric_sample_count", sample_count.map(|count| count as i64));
    if let Some(active) = sampled.share(Metric::SmActive, During::Window)
        && sample_count.is_some_and(|count| count >= ENOUGH_OF_WINDOW)
    {
        let active_ns = (active.min(1.0) * device.window().len_ns() as f64) as i64;
        facts.set("unrecorded_busy_ns", (active_ns - device.tally.busy.len_ns()).max(0));
    }
    // Kernels that run have a block on one SM at least: samples below that missed them.
    let sm_count = device.properties(context.timeline).and_then(|known| known.sm_count);
    let least = sm_count.map_or(0.0, |count| 1.0 / count.max(1) as f64);
    let active = sampled.share(Metric::SmActive, During::Kernels).or_else(|| sampled.of_short_kernels());
    let best = match active.filter(|share| *share >= least) {
        Some(share) => Some((share, "sampled")),
        None => device.tally.sm_filled_share().map(|share| (share, "derived")),
    };
    facts.set_some("sm_active_share", best.map(|(share, _)| share));
    facts.set_some("sm_active_source", best.map(|(_, source)| source));
}

/// Which samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum During {
    /// Those in the window.
    Window,
    /// Those whose whole period lies in time in which kernels run: a sample stands for the time since the one before, and a
    /// short kernel's would mostly speak of the time around it.
    Kernels,
}

/// The samples of one device.
struct Sampled<'all> {
    series: Vec<&'all MetricSeries>,
    window: Union,
    kernels_run: &'all Union,
}

impl<'all> Sampled<'all> {
    fn new(timeline: &'all Timeline, device: &'all DeviceContext) -> Self {
        let number = timeline.devices[device.ops.device as usize].number;
        let series = timeline.metrics.iter().filter(|series| series.gpu == number).collect();
        Self { series, window: Union::of([device.window()]), kernels_run: &device.tally.kernels_run }
    }

    /// The values of a metric; `None` where it was not sampled.
    fn values(&self, metric: Metric, during: During) -> Option<Vec<f64>> {
        let series = self.series.iter().find(|series| series.metric == metric)?;
        Some(match during {
            During::Window => values_within(series, &self.window, 0),
            During::Kernels => values_within(series, self.kernels_run, period(series)),
        })
    }

    /// The values of a metric, where there are enough to say anything.
    fn enough(&self, metric: Metric, during: During) -> Option<Vec<f64>> {
        self.values(metric, during).filter(|values| values.len() >= ENOUGH_SAMPLES)
    }

    fn mean(&self, metric: Metric, during: During) -> Option<f64> {
        self.enough(metric, during).map(|values| mean(&values))
    }

    /// The part of the SMs that are active while kernels run that are all shorter than a sample's period: what is sampled over the
    /// window, by the part of it in which they run. `None` where that is a small one, beside which the activity of others may count.
    fn of_short_kernels(&self) -> Option<f64> {
        let window_ns = self.window.len_ns() as f64;
        let run_share = self.kernels_run.len_ns() as f64 / window_ns.max(1.0);
        let active = self.share(Metric::SmActive, During::Window).filter(|_| run_share >= LEAST_RUN_SHARE)?;
        Some((active / run_share).min(1.0))
    }

    /// The mean of a metric that is sampled in percent.
    fn share(&self, metric: Metric, during: During) -> Option<f64> {
        self.mean(metric, during).map(|percent| percent / 100.0)
    }
}

/// The values of the samples in a union of intervals, together with some time before each.
fn values_within(series: &MetricSeries, within: &Union, time_before_ns: i64) -> Vec<f64> {
    let mut parts = within.parts().peekable();
    let mut values = Vec::new();
    for (time, value) in series.time_ns.iter().zip(&series.value) {
        while parts.next_if(|part| part.end < *time).is_some() {}
        if parts.peek().is_some_and(|part| part.start <= time - time_before_ns) {
            values.push(f64::from(*value));
        }
    }
    values
}

/// The usual distance of two samples.
fn period(series: &MetricSeries) -> i64 {
    let mut distances: Vec<i64> = series.time_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    median(&mut distances).unwrap_or(0)
}

/// Of at least one value.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
