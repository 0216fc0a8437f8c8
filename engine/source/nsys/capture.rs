//! What to record with Nsight Systems.

use crate::source::format::{CaptureCommand, Language, PROGRAM, Script, to_record};
use crate::timeline::Capability;

/// How an option of `nsys profile` brings a capability.
enum Brings {
    Nothing,
    /// No option does.
    Never,
    /// One of the things that are traced.
    Trace(&'static str),
    /// Further options.
    Options(&'static str),
}

const fn brings(capability: Capability) -> Brings {
    match capability {
        Capability::Report => Brings::Nothing,
        Capability::CudaTrace | Capability::CudaApi | Capability::DeviceInfo => Brings::Trace("cuda"),
        Capability::Nvtx => Brings::Trace("nvtx"),
        Capability::OsRuntime => Brings::Trace("osrt"),
        Capability::GraphKernels => Brings::Options("--cuda-graph-trace=node"),
        Capability::GpuMetrics => Brings::Options("--gpu-metrics-devices=all"),
        Capability::PageFaults => Brings::Options("--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true"),
        Capability::CallStacks => Brings::Options("--cudabacktrace=all --python-backtrace=cuda"),
        Capability::CpuSamples => Brings::Options("--sample=process-tree"),
        Capability::KernelProfile
        | Capability::TensorShapes
        | Capability::AllocatorMemory
        | Capability::CollectiveSizes => Brings::Never,
    }
}

/// One command for all of it. CUDA is always traced: nothing is told without.
pub(super) fn command(wanted: &[Capability]) -> Option<CaptureCommand> {
    let wanted = to_record(wanted)?;
    let (mut traces, mut others) = (vec!["cuda"], String::new());
    for capability in wanted {
        match brings(capability) {
            Brings::Trace(trace) if !traces.contains(&trace) => traces.push(trace),
            Brings::Trace(_) | Brings::Nothing => {}
            Brings::Never => return None,
            Brings::Options(options) => others.extend([" ", options]),
        }
    }
    Some(CaptureCommand { program: "nsys profile", options: format!("--trace={}{others}", traces.join(",")) })
}

/// A command line that records a program.
pub(super) fn script(command: &CaptureCommand) -> Script {
    Script {
        profiler: "nsys",
        language: Language::Shell,
        text: format!("{command} --output=run {PROGRAM}"),
        output: "run.nsys-rep",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_brings_all_that_is_wanted() {
        use Capability::{CudaApi, CudaTrace, GpuMetrics, Nvtx, OsRuntime, Report};
        let of = |wanted: &[Capability]| command(wanted).map(|command| command.to_string());
        assert_eq!(of(&[Report]), None);
        assert_eq!(of(&[CudaApi, CudaTrace]).as_deref(), Some("nsys profile --trace=cuda"));
        assert_eq!(of(&[OsRuntime, Nvtx, Nvtx]).as_deref(), Some("nsys profile --trace=cuda,nvtx,osrt"));
        let metrics = of(&[GpuMetrics, Nvtx]);
        assert_eq!(metrics.as_deref(), Some("nsys profile --trace=cuda,nvtx --gpu-metrics-devices=all"));
    }
}
