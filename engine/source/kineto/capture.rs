//! What to record with the PyTorch Profiler.

use crate::source::format::{CaptureCommand, to_record};
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
