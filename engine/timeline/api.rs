//! What a CUDA API call does, told from its name.
//!
//! The number that CUPTI gives a synchronisation changed its meaning several times, so waits are told from the name of
//! the call too.

/// Removes what exporters append to API names: `_v3020`, `_v2`, `_ptsz`, `_ptds`, in any order.
pub fn normal_name(name: &str) -> &str {
    let mut name = name;
    loop {
        let shorter =
            name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).or_else(|| without_version(name));
        match shorter.filter(|rest| !rest.is_empty()) {
            Some(rest) => name = rest,
            None => return name,
        }
    }
}

fn without_version(name: &str) -> Option<&str> {
    let (stem, digits) = name.rsplit_once("_v")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(stem)
}

/// What a blocking wait waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WaitsFor {
    /// One stream.
    Stream,
    /// One event.
    Event,
    /// The whole device or context.
    Device,
}

/// What a call does to the host thread that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApiClass {
    /// Blocks until the device has finished something.
    Wait(WaitsFor),
    /// Asks whether the device has finished, and returns.
    Query,
    /// Launches a kernel or a graph.
    Launch,
    /// Copies, and by its definition returns when done.
    CopyBlocking,
    /// Copies, and returns at once unless the memory is pageable.
    CopyAsync,
    /// Sets memory.
    Memset,
    /// Allocates, frees, registers or maps memory.
    Allocate,
    /// Loads or links code.
    Load,
    /// Sets up devices, contexts, streams, events, graphs and libraries, or asks for their properties.
    Init,
    /// Any other call: asynchronous, such as recording an event.
    Other,
}

const WAITS: [(&str, WaitsFor); 10] = [
    ("StreamSynchronize", WaitsFor::Stream),
    ("EventSynchronize", WaitsFor::Event),
    ("DeviceSynchronize", WaitsFor::Device),
    ("CtxSynchronize", WaitsFor::Device),
    ("ThreadSynchronize", WaitsFor::Device),
    ("GreenCtxSynchronize", WaitsFor::Device),
    ("CtxSynchronizeEx", WaitsFor::Device),
    ("DeviceReset", WaitsFor::Device),
    ("ThreadExit", WaitsFor::Device),
    ("DevicePrimaryCtxReset", WaitsFor::Device),
];

/// Beginnings of the name behind `cuda` or `cu`, and what such calls do. The first that fits counts.
const BEGINNINGS: [(&str, ApiClass); 64] = [
    ("StreamQuery", ApiClass::Query),
    ("EventQuery", ApiClass::Query),
    ("LaunchHostFunc", ApiClass::Other),
    ("Launch", ApiClass::Launch),
    ("ModuleLaunch", ApiClass::Launch),
    ("ExtModuleLaunch", ApiClass::Launch),
    ("ExtLaunch", ApiClass::Launch),
    ("GraphLaunch", ApiClass::Launch),
    ("MemcpyBatchAsync", ApiClass::CopyAsync),
    ("MemsetD", ApiClass::Memset),
    ("Memset", ApiClass::Memset),
    ("MemPrefetch", ApiClass::Other),
    ("MemAdvise", ApiClass::Other),
    ("MemGetInfo", ApiClass::Init),
    ("MemGetAttribute", ApiClass::Init),
    ("MemGetAllocation", ApiClass::Init),
    ("MemAlloc", ApiClass::Allocate),
    ("MemFree", ApiClass::Allocate),
    ("MemHost", ApiClass::Allocate),
    ("MemPool", ApiClass::Allocate),
    ("MemCreate", ApiClass::Allocate),
    ("MemRelease", ApiClass::Allocate),
    ("MemMap", ApiClass::Allocate),
    ("MemUnmap", ApiClass::Allocate),
    ("MemSetAccess", ApiClass::Allocate),
    ("MemAddress", ApiClass::Allocate),
    ("Malloc", ApiClass::Allocate),
    ("Free", ApiClass::Allocate),
    ("HostAlloc", ApiClass::Allocate),
    ("HostRegister", ApiClass::Allocate),
    ("HostUnregister", ApiClass::Allocate),
    ("ArrayCreate", ApiClass::Allocate),
    ("ArrayDestroy", ApiClass::Allocate),
    ("Array3DCreate", ApiClass::Allocate),
    ("IpcOpen", ApiClass::Allocate),
    ("IpcClose", ApiClass::Allocate),
    ("Module", ApiClass::Load),
    ("Library", ApiClass::Load),
    ("Link", ApiClass::Load),
    ("KernelGetFunction", ApiClass::Load),
    ("FuncLoad", ApiClass::Load),
    ("RegisterFatBinary", ApiClass::Load),
    ("Init", ApiClass::Init),
    ("SetDevice", ApiClass::Init),
    ("GetDevice", ApiClass::Init),
    ("ChooseDevice", ApiClass::Init),
    ("Device", ApiClass::Init),
    ("Driver", ApiClass::Init),
    ("RuntimeGet", ApiClass::Init),
    ("GetProcAddress", ApiClass::Init),
    ("GetExportTable", ApiClass::Init),
    ("GetDriverEntryPoint", ApiClass::Init),
    ("Ctx", ApiClass::Init),
    ("GreenCtx", ApiClass::Init),
    ("StreamCreate", ApiClass::Init),
    ("StreamDestroy", ApiClass::Init),
    ("EventCreate", ApiClass::Init),
    ("EventDestroy", ApiClass::Init),
    ("GraphInstantiate", ApiClass::Init),
    ("GraphExecUpdate", ApiClass::Init),
    ("GraphCreate", ApiClass::Init),
    ("GraphExecDestroy", ApiClass::Init),
    ("GraphDestroy", ApiClass::Init),
    ("Occupancy", ApiClass::Init),
];

/// What a call of this (normalised) name does.
pub fn classify(name: &str) -> ApiClass {
    let stem = ["cuda", "cu", "hip"].into_iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    if let Some((_, waits_for)) = WAITS.iter().find(|(wait, _)| *wait == stem) {
        return ApiClass::Wait(*waits_for);
    }
    if stem.starts_with("Memcpy") && stem != "MemcpyBatchAsync" {
        return if stem.contains("Async") { ApiClass::CopyAsync } else { ApiClass::CopyBlocking };
    }
    BEGINNINGS.iter().find(|(beginning, _)| stem.starts_with(beginning)).map_or(ApiClass::Other, |(_, class)| *class)
}

/// Whether a call that sets up only asks about the device or a kernel.
pub fn asks(name: &str) -> bool {
    ["Get", "Occupancy"].iter().any(|part| name.contains(part))
}

/// Whether a call brings code: others that have to do with some ask for it.
pub fn brings_code(name: &str) -> bool {
    ["ModuleLoad", "LibraryLoad"].iter().any(|part| name.contains(part))
}

/// Whether a call lets code go.
pub fn lets_code_go(name: &str) -> bool {
    ["ModuleUnload", "LibraryUnload"].iter().any(|part| name.contains(part))
}

/// What a call that manages memory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryCall {
    /// Allocates page-locked memory of the host, or locks pages.
    HostPin,
    /// Frees or unlocks it.
    HostUnpin,
    /// Allocates memory of the device.
    DeviceAllocate,
    /// Frees it.
    DeviceFree,
    /// Takes from a pool, gives back, or shapes the pool.
    Pool,
    /// Allocates unified memory.
    Managed,
    /// Reserves and maps addresses, or anything else.
    Other,
}

impl MemoryCall {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::HostPin,
        Self::HostUnpin,
        Self::DeviceAllocate,
        Self::DeviceFree,
        Self::Pool,
        Self::Managed,
        Self::Other,
    ];
    /// How many.
    pub const COUNT: usize = Self::ALL.len();
    /// Their names in facts.
    pub const IDS: [&str; Self::COUNT] =
        ["host_pin", "host_unpin", "device_allocate", "device_free", "pool", "managed", "other"];

    /// Its name in facts.
    pub const fn id(self) -> &'static str {
        Self::IDS[self as usize]
    }
}

/// Beginnings of the name behind `cuda` or `cu`. The first that fits counts.
const MEMORY_CALLS: [(&str, MemoryCall); 16] = [
    ("MallocManaged", MemoryCall::Managed),
    ("MemAllocManaged", MemoryCall::Managed),
    ("MallocHost", MemoryCall::HostPin),
    ("HostAlloc", MemoryCall::HostPin),
    ("HostRegister", MemoryCall::HostPin),
    ("MemHostAlloc", MemoryCall::HostPin),
    ("MemHostRegister", MemoryCall::HostPin),
    ("MemAllocHost", MemoryCall::HostPin),
    ("FreeHost", MemoryCall::HostUnpin),
    ("HostUnregister", MemoryCall::HostUnpin),
    ("MemFreeHost", MemoryCall::HostUnpin),
    ("MemHostUnregister", MemoryCall::HostUnpin),
    ("MemPool", MemoryCall::Pool),
    ("Malloc", MemoryCall::DeviceAllocate),
    ("MemAlloc", MemoryCall::DeviceAllocate),
    ("MemFree", MemoryCall::DeviceFree),
];

/// Whether a call launches a graph.
pub fn is_graph_launch(call: &str) -> bool {
    call.contains("GraphLaunch")
}

/// Whether a call makes a graph that can be launched.
pub fn instantiates_graph(call: &str) -> bool {
    call.contains("GraphInstantiate")
}

/// Whether a call that sets up does so for a graph: what is launched to a stream that is captured runs in no call of its own.
pub fn builds_graph(call: &str) -> bool {
    call.contains("Graph") || call.contains("StreamBeginCapture")
}

/// No call that works in the order of a stream has a longer name. It is asked of each call.
const MAX_ASYNC_BYTES: usize = 64;

/// What a call of this (normalised) name, which manages memory, does.
pub fn memory_call(name: &str) -> MemoryCall {
    let stem = ["cuda", "cu", "hip"].into_iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let is_ordered = stem.len() <= MAX_ASYNC_BYTES
        && stem.ends_with("Async")
        && (stem.contains("Alloc") || stem.contains("Malloc") || stem.contains("Free"));
    if is_ordered || stem.starts_with("MallocFromPool") || stem.starts_with("MemAllocFromPool") {
        return MemoryCall::Pool;
    }
    let known = MEMORY_CALLS.iter().find(|(beginning, _)| stem.starts_with(beginning)).map(|(_, kind)| *kind);
    known.unwrap_or(if stem.starts_with("Free") { MemoryCall::DeviceFree } else { MemoryCall::Other })
}

/// Errors of CUDA that say what went wrong, by their number, which the runtime and the driver share.
const ERRORS: [(u16, &str); 45] = [
    (1, "invalid value"),
    (2, "out of memory"),
    (3, "initialization error"),
    (4, "deinitialized"),
    (13, "invalid symbol"),
    (35, "insufficient driver"),
    (46, "devices unavailable"),
    (98, "invalid device function"),
    (100, "no device"),
    (101, "invalid device"),
    (200, "invalid kernel image"),
    (201, "invalid context"),
    (205, "map failed"),
    (209, "no kernel image for the device"),
    (214, "uncorrectable ECC error"),
    (217, "peer access unsupported"),
    (218, "invalid PTX"),
    (220, "uncorrectable NVLink error"),
    (222, "unsupported PTX version"),
    (301, "file not found"),
    (302, "shared object symbol not found"),
    (303, "shared object initialization failed"),
    (400, "invalid resource handle"),
    (401, "illegal state"),
    (500, "symbol not found"),
    (700, "illegal address"),
    (701, "launch out of resources"),
    (702, "launch timeout"),
    (704, "peer access already enabled"),
    (705, "peer access not enabled"),
    (709, "context is destroyed"),
    (710, "device-side assert"),
    (712, "host memory already registered"),
    (714, "hardware stack error"),
    (715, "illegal instruction"),
    (716, "misaligned address"),
    (717, "invalid address space"),
    (718, "invalid program counter"),
    (719, "launch failure"),
    (720, "cooperative launch too large"),
    (800, "not permitted"),
    (801, "not supported"),
    (803, "system driver mismatch"),
    (900, "stream capture unsupported"),
    (999, "unknown error"),
];

/// The number of an error, where CUDA may know it; else 0.
pub fn error_code(value: i64) -> u16 {
    u16::try_from(value).ok().filter(|code| *code < 1_000).unwrap_or(0)
}

/// What CUDA calls an error; absent for those that seldom occur.
pub fn error_name(code: u16) -> Option<&'static str> {
    ERRORS.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

/// Errors that end all that a context does, by number: what happened, and of which kind that is.
const FAILURES: [(u16, &str, Failure); 11] = [
    (214, "The GPU's memory has an error that ECC cannot correct", Failure::Hardware),
    (220, "The link between GPUs has an error that it cannot correct", Failure::Hardware),
    (700, "A kernel accessed an illegal address", Failure::Fault),
    (702, "A kernel ran for longer than the system allows", Failure::Timeout),
    (710, "An assertion in a kernel failed", Failure::Assertion),
    (714, "A kernel damaged its stack, or needed a larger one", Failure::Fault),
    (715, "A kernel ran into an illegal instruction", Failure::Fault),
    (716, "A kernel accessed a misaligned address", Failure::Fault),
    (717, "A kernel accessed memory of the wrong kind", Failure::Fault),
    (718, "A kernel ran into an invalid program counter", Failure::Fault),
    (719, "A kernel failed", Failure::Fault),
];
/// What each of them says, as a fact has it.
pub const FAILURE_TEXTS: [&str; FAILURES.len()] = {
    let mut texts = [""; FAILURES.len()];
    let mut index = 0;
    while index < texts.len() {
        texts[index] = FAILURES[index].1;
        index += 1;
    }
    texts
};

/// Of which kind an error is that ends all that a context does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A kernel did what it must not.
    Fault,
    /// A kernel found by itself that something is wrong.
    Assertion,
    /// A kernel was stopped.
    Timeout,
    /// The GPU, or a link of it, is broken.
    Hardware,
}

impl Failure {
    /// The names of all kinds, as a fact says them.
    pub const NAMES: [&str; 4] = ["fault", "assertion", "timeout", "hardware"];

    /// The name of this one.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// What an error says that ends all that a context does: no call of CUDA succeeds after it.
pub fn failure(code: u16) -> Option<(&'static str, Failure)> {
    FAILURES.iter().find(|(known, ..)| *known == code).map(|(_, text, kind)| (*text, *kind))
}

/// Whether an error says that CUDA is taken down already, as what runs at the end of a program may find it.
pub const fn is_of_tear_down(code: u16) -> bool {
    matches!(code, 4 | 709)
}

/// Whether a call creates one stream.
pub fn creates_stream(name: &str) -> bool {
    name.starts_with("cudaStreamCreate") || name.starts_with("cuStreamCreate") || name.starts_with("hipStreamCreate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_end_a_context_say_what_happened() {
        let kind = |code| failure(code).map(|(_, kind)| kind.name());
        assert_eq!(kind(700), Some("fault"));
        assert_eq!(kind(702), Some("timeout"));
        assert_eq!(kind(710), Some("assertion"));
        assert_eq!(kind(214), Some("hardware"));
        // Out of memory, a launch that asks for too much, and a context that is gone end nothing.
        for code in [2, 701, 709, 720] {
            assert_eq!(kind(code), None, "{code}");
        }
        // Each has a name of CUDA's own beside.
        assert!(FAILURES.iter().all(|(code, ..)| error_name(*code).is_some()));
        assert_eq!(FAILURE_TEXTS[2], "A kernel accessed an illegal address");
    }

    #[test]
    fn suffixes_go() {
        for (raw, normal) in [
            ("cudaMemcpyAsync_v3020", "cudaMemcpyAsync"),
            ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync"),
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
            ("cudaLaunchKernel_v7000_ptsz", "cudaLaunchKernel"),
            ("cudaGetDeviceProperties_v2_v12000", "cudaGetDeviceProperties"),
            ("cuKernelGetAttribute", "cuKernelGetAttribute"),
            ("_v2", "_v2"),
        ] {
            assert_eq!(normal_name(raw), normal);
        }
    }

    #[test]
    fn classes_are_told_from_names() {
        for (name, class) in [
            ("cudaStreamSynchronize", ApiClass::Wait(WaitsFor::Stream)),
            ("cuEventSynchronize", ApiClass::Wait(WaitsFor::Event)),
            ("cuCtxSynchronize", ApiClass::Wait(WaitsFor::Device)),
            ("cudaStreamWaitEvent", ApiClass::Other),
            ("cudaEventQuery", ApiClass::Query),
            ("cudaLaunchKernelExC", ApiClass::Launch),
            ("cuLaunchKernelEx", ApiClass::Launch),
            ("hipModuleLaunchKernel", ApiClass::Launch),
            ("hipExtModuleLaunchKernel", ApiClass::Launch),
            ("hipExtLaunchKernel", ApiClass::Launch),
            ("hipModuleLoadData", ApiClass::Load),
            ("cudaLaunchHostFunc", ApiClass::Other),
            ("cudaGraphLaunch", ApiClass::Launch),
            ("cudaGraphInstantiateWithFlags", ApiClass::Init),
            ("cudaMemcpy2DAsync", ApiClass::CopyAsync),
            ("cudaMemcpyToSymbol", ApiClass::CopyBlocking),
            ("cuMemcpyDtoH", ApiClass::CopyBlocking),
            ("cudaMemsetAsync", ApiClass::Memset),
            ("cudaMallocAsync", ApiClass::Allocate),
            ("cudaFreeHost", ApiClass::Allocate),
            ("cuMemHostAlloc", ApiClass::Allocate),
            ("cudaMemPrefetchAsync", ApiClass::Other),
            ("cuModuleLoadDataEx", ApiClass::Load),
            ("cuLibraryLoadData", ApiClass::Load),
            ("cudaGetDeviceProperties", ApiClass::Init),
            ("cudaDeviceGetAttribute", ApiClass::Init),
            ("cudaDeviceSynchronize", ApiClass::Wait(WaitsFor::Device)),
            ("cudaEventRecord", ApiClass::Other),
            ("cudaFuncGetAttributes", ApiClass::Other),
        ] {
            assert_eq!(classify(name), class, "{name}");
        }
    }

    #[test]
    fn calls_that_manage_memory_are_told_apart() {
        for (name, kind) in [
            ("cudaMallocHost", MemoryCall::HostPin),
            ("cuMemHostRegister", MemoryCall::HostPin),
            ("cudaFreeHost", MemoryCall::HostUnpin),
            ("cudaMalloc", MemoryCall::DeviceAllocate),
            ("cuMemAlloc", MemoryCall::DeviceAllocate),
            ("cudaFree", MemoryCall::DeviceFree),
            ("cuMemFree", MemoryCall::DeviceFree),
            ("cudaMallocAsync", MemoryCall::Pool),
            ("cuMemFreeAsync", MemoryCall::Pool),
            ("cudaMemPoolTrimTo", MemoryCall::Pool),
            ("cudaMallocManaged", MemoryCall::Managed),
            ("cuMemMap", MemoryCall::Other),
        ] {
            assert_eq!(memory_call(name), kind, "{name}");
        }
        assert!(MemoryCall::ALL.into_iter().zip(MemoryCall::IDS).all(|(kind, id)| kind.id() == id));
    }

    #[test]
    fn errors_have_the_names_of_cuda() {
        assert_eq!(error_name(error_code(2)), Some("out of memory"));
        assert_eq!((error_code(-5), error_code(100_000)), (0, 0));
    }
}
