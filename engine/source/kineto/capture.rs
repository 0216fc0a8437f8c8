//! What to record with the PyTorch Profiler.

use crate::source::format::{CaptureCommand, Language, Script, to_record};
use crate::timeline::Capability;

/// Whether a trace can hold it, and the further argument that brings it.
const fn argument(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Report
        | Capability::CudaTrace
        | Capability::CudaApi
        | Capability::DeviceInfo
        | Capability::Nvtx
        | Capability::GraphKernels
        | Capability::TensorShapes
        | Capability::CollectiveSizes => Some(""),
        Capability::AllocatorMemory => Some(", profile_memory=True"),
        Capability::CallStacks => Some(", with_stack=True"),
        Capability::CpuSamples
        | Capability::OsRuntime
        | Capability::GpuMetrics
        | Capability::PageFaults
        | Capability::KernelProfile => None,
    }
}

/// The call that records all of it; `None` where a trace cannot hold some of it.
pub(super) fn command(wanted: &[Capability]) -> Option<CaptureCommand> {
    let wanted = to_record(wanted)?;
    let arguments: Option<String> = wanted.into_iter().map(argument).collect();
    let options =
        format!("(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True{})", arguments?);
    Some(CaptureCommand { program: "torch.profiler.profile", options })
}

/// The lines of a training loop that record a few steps, after the first ones.
pub(super) fn script(command: &CaptureCommand) -> Script {
    let arguments = command.options.trim_start_matches('(').trim_end_matches(')');
    let text = format!(
        "from torch.profiler import ProfilerActivity, profile, schedule\n\
         \n\
         with profile({arguments},\n\
         \x20            schedule=schedule(skip_first=5, wait=1, warmup=2, active=5, repeat=1),\n\
         \x20            on_trace_ready=lambda done: done.export_chrome_trace(\"trace.json.gz\")) as profiler:\n\
         \x20   for batch in batches:\n\
         \x20       step(batch)\n\
         \x20       profiler.step()"
    );
    Script { profiler: "torch.profiler", language: Language::Python, text, output: "trace.json.gz" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_cannot_hold_everything() {
        let of = |wanted: &[Capability]| command(wanted).map(|command| command.options);
        assert_eq!(of(&[Capability::Report]), None);
        assert_eq!(of(&[Capability::CudaApi, Capability::OsRuntime]), None);
        assert!(of(&[Capability::CallStacks]).is_some_and(|options| options.contains("with_stack=True")));
    }
}
