//! Libraries in which a thread of the host waits for others: MPI and what it is made of for other ranks, NCCL for their
//! processes, OpenMP for the threads that share a loop.

use super::modules;

/// For whom a thread waits, by the library that it does so in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peers {
    /// Other ranks.
    Mpi,
    /// The processes that set up a communicator with it.
    Nccl,
    /// Threads that share a loop or a section with it.
    OpenMp,
}

/// The names of the libraries, as a fact says them, in the order of [`Peers`].
pub const PEER_LIBRARIES: [&str; 3] = ["MPI", "NCCL", "OpenMP"];

/// Files of MPI, by how their names begin. What it moves messages with (UCX, libfabric) moves those of others too, and does not tell.
const MPI_FILES: [&str; 11] = [
    "libmpi.",
    "libmpi_",
    "libmpi-",
    "libmpich",
    "libmpifort",
    "libmpicxx",
    "libpmpi",
    "libopen-pal",
    "libopen-rte",
    "mca_",
    "libhcoll.",
];
/// Files of runtimes of OpenMP.
const OPENMP_FILES: [&str; 4] = ["libgomp", "libiomp5", "libomp.", "libnvomp"];
/// Parts of the names of their functions that wait, and of those that have the GPU do something.
const OPENMP_WAITS: [&str; 6] = ["wait", "barrier", "spin", "join", "yield", "team_end"];
const OPENMP_TARGET: &str = "target";
/// Functions in which the processes of NCCL find each other, by how their names begin.
const NCCL_WAITS: [&str; 2] = ["bootstrap", "ncclSocket"];
/// How calls of NCCL begin.
const NCCL_CALLS: [&str; 2] = ["nccl", "pnccl"];
/// How calls of MPI begin, in small letters, and what those have in their names that wait for no message: they begin and end it,
/// which occurs once, work on files, or do what the rank does alone.
const MPI_CALLS: [&str; 2] = ["mpi_", "pmpi_"];
const MPI_WITHOUT_MESSAGE: [&str; 7] =
    ["mpi_init", "mpi_finalize", "mpi_file_", "mpi_type_", "mpi_pack", "mpi_unpack", "mpi_comm_spawn"];

/// Whether a file, without its folder, is a runtime of OpenMP.
pub fn is_openmp(file: &str) -> bool {
    begins_with_any(file, &OPENMP_FILES)
}

/// What the name and the file of a function tell of waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Called {
    is_mpi: bool,
    is_mpi_call: bool,
    is_without_message: bool,
    is_openmp: bool,
    /// It waits, or has no name, where it is of OpenMP; or has the GPU do something.
    is_openmp_wait: bool,
    is_openmp_target: bool,
    is_nccl: bool,
    is_nccl_wait: bool,
    is_program: bool,
    is_system: bool,
    is_named: bool,
    /// It does what others do not merely ask for.
    is_telling: bool,
}

/// What the name of a function tells of waits, whatever file holds it.
#[derive(Debug, Clone, Copy)]
pub struct CalledName {
    is_mpi_call: bool,
    is_without_message: bool,
    /// It waits, or has no name; has the GPU do something: where it is of OpenMP.
    may_wait_in_openmp: bool,
    may_be_openmp_target: bool,
    is_nccl: bool,
    is_nccl_wait: bool,
    is_named: bool,
    is_root: bool,
}

impl CalledName {
    /// Of a function's name, which may be empty.
    pub fn new(function: &str) -> Self {
        let name = function.to_ascii_lowercase();
        let is_without_message = MPI_WITHOUT_MESSAGE.iter().any(|part| name.contains(part));
        Self {
            is_mpi_call: begins_with_any(&name, &MPI_CALLS) && !is_without_message,
            is_without_message,
            may_wait_in_openmp: name.is_empty() || OPENMP_WAITS.iter().any(|part| name.contains(part)),
            may_be_openmp_target: name.contains(OPENMP_TARGET),
            is_nccl: begins_with_any(function, &NCCL_CALLS),
            is_nccl_wait: begins_with_any(function, &NCCL_WAITS),
            is_named: !name.is_empty(),
            is_root: modules::is_root(function),
        }
    }
}

impl Called {
    /// Of a function, by what its name tells, and its file without the folder.
    pub fn of(name: CalledName, file: &str) -> Self {
        let is_openmp = is_openmp(file);
        Self {
            is_mpi: begins_with_any(file, &MPI_FILES),
            is_mpi_call: name.is_mpi_call,
            is_without_message: name.is_without_message,
            is_openmp,
            is_openmp_wait: is_openmp && name.may_wait_in_openmp,
            is_openmp_target: is_openmp && name.may_be_openmp_target,
            is_nccl: name.is_nccl,
            is_nccl_wait: name.is_nccl_wait,
            is_program: modules::is_program(file),
            is_system: modules::is_system(file),
            is_named: name.is_named,
            is_telling: name.is_named && !modules::is_plumbing(file) && !name.is_root,
        }
    }

    /// Whether a stack with it may tell of a wait.
    pub const fn may_wait(&self) -> bool {
        self.is_mpi || self.is_openmp_wait || self.is_nccl_wait
    }
}

/// A wait that a call stack tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// For whom.
    pub peers: Peers,
    /// The place in the stack of the library's function that was called for it, where one has a name.
    pub call: Option<usize>,
    /// That of the function that called it.
    pub caller: Option<usize>,
}

fn begins_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// Whether a name is that of a call of MPI, in C or in Fortran.
pub fn is_named_as_mpi(name: &str) -> bool {
    MPI_CALLS.iter().any(|begin| name.get(..begin.len()).is_some_and(|named| named.eq_ignore_ascii_case(begin)))
}

/// Whether it is the name of one that may wait for a message.
pub fn is_mpi_call(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    begins_with_any(&name, &MPI_CALLS) && !MPI_WITHOUT_MESSAGE.iter().any(|part| name.contains(part))
}

/// What a call stack, the innermost function first, tells of a wait for others.
pub fn wait_of(stack: &[Called]) -> Option<Wait> {
    if !stack.iter().any(Called::may_wait) {
        return None;
    }
    of_mpi(stack).or_else(|| of_nccl(stack)).or_else(|| of_openmp(stack))
}

/// The first telling function from a place on.
fn caller_from(stack: &[Called], place: usize) -> Option<usize> {
    Some(place + stack.get(place..)?.iter().position(|called| called.is_telling)?)
}

/// Any function in a file of MPI, unless that calls the program back or waits for no message.
fn of_mpi(stack: &[Called]) -> Option<Wait> {
    let outermost = stack.iter().rposition(|called| called.is_mpi)?;
    let inside = stack.get(..=outermost)?;
    if inside.iter().any(|called| called.is_program || called.is_without_message) {
        return None;
    }
    let call = inside.iter().rposition(|called| called.is_mpi_call);
    let named = || inside.iter().rposition(|called| called.is_mpi && called.is_named);
    Some(Wait { peers: Peers::Mpi, call: call.or_else(named), caller: caller_from(stack, outermost + 1) })
}

/// A function of NCCL in which processes find each other.
fn of_nccl(stack: &[Called]) -> Option<Wait> {
    let wait = stack.iter().position(|called| called.is_nccl_wait)?;
    let call = stack.iter().rposition(|called| called.is_nccl).unwrap_or(wait).max(wait);
    Some(Wait { peers: Peers::Nccl, call: Some(call), caller: caller_from(stack, call + 1) })
}

/// The innermost function, without what the system does for it, waits in a runtime of OpenMP, or has no name there.
fn of_openmp(stack: &[Called]) -> Option<Wait> {
    let first = stack.iter().position(|called| !called.is_system)?;
    let own = stack.get(first..)?.iter().take_while(|called| called.is_openmp).count();
    let own = stack.get(first..first + own)?;
    if !own.first()?.is_openmp_wait || own.iter().any(|called| called.is_openmp_target) {
        return None;
    }
    let call = own.iter().rposition(|called| called.is_named).map(|place| first + place);
    Some(Wait { peers: Peers::OpenMp, call, caller: caller_from(stack, first + own.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[(&str, &str)]) -> Vec<Called> {
        frames.iter().map(|(function, file)| Called::of(CalledName::new(function), file)).collect()
    }

    fn told<'all>(frames: &[(&'all str, &'all str)]) -> Option<(Peers, &'all str, &'all str)> {
        let wait = wait_of(&stack(frames))?;
        let name = |place: Option<usize>| place.map_or("", |place| frames[place].0);
        Some((wait.peers, name(wait.call), name(wait.caller)))
    }

    const BARRIER: [(&str, &str); 5] = [
        ("opal_progress", "libopen-pal.so.40"),
        ("PMPI_Barrier", "libmpi.so.40"),
        ("ompi_barrier_f", "libmpi_mpifh.so.40"),
        ("push_wrapper_", "gem_main"),
        ("MAIN_", "gem_main"),
    ];

    #[test]
    fn any_function_of_mpi_waits_for_other_ranks() {
        assert_eq!(told(&BARRIER), Some((Peers::Mpi, "PMPI_Barrier", "push_wrapper_")));
        assert_eq!(told(&BARRIER[1..]), Some((Peers::Mpi, "PMPI_Barrier", "push_wrapper_")));
        let in_poll = [("poll", "libc.so.6"), ("uct_ib_progress", "libuct_ib.so.0"), BARRIER[1], BARRIER[3]];
        assert_eq!(told(&in_poll), Some((Peers::Mpi, "PMPI_Barrier", "push_wrapper_")));
        assert_eq!(told(&[in_poll[0], in_poll[1], ("exchange", "app")]), None);
        for file in MPI_FILES.map(|file| format!("{file}x.so")) {
            assert!(told(&[("progress", &file), ("exchange", "app")]).is_some(), "{file}");
        }
    }

    #[test]
    fn what_mpi_calls_back_begins_or_hooks_is_no_wait() {
        assert_eq!(told(&[("my_reduce", "app"), BARRIER[1], BARRIER[3]]), None);
        assert_eq!(told(&[("open", "libc.so.6"), ("ompi_mpi_init", "libmpi.so.40"), ("main", "app")]), None);
        assert_eq!(told(&[("PMPI_Finalize", "libmpi.so.40"), ("main", "app")]), None);
        assert_eq!(told(&[("pwrite", "libc.so.6"), ("PMPI_File_write_at", "libmpi.so.40"), ("save", "app")]), None);
        assert_eq!(told(&[("cuMemAlloc", "libcuda.so.1"), ("ucm_cudaMalloc", "libucm_cuda.so.0"), ("f", "app")]), None);
        assert_eq!(told(&[("mpz_mul", "libmpir.so.23"), ("f", "app")]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn calls_of_mpi_are_told_by_name_in_c_and_fortran() {
        assert!(is_mpi_call("MPI_Recv") && is_mpi_call("PMPI_Barrier") && is_mpi_call("mpi_allreduce_"));
        assert!(!is_mpi_call("MPI_Init_thread") && !is_mpi_call("MPI_Finalize") && !is_mpi_call("ompi_progress"));
        assert!(!is_mpi_call("MPI_File_write_at") && !is_mpi_call("PMPI_Type_commit") && !is_mpi_call("mpi_pack_"));
    }

    #[test]
    fn openmp_waits_where_its_runtime_is_the_innermost() {
        let spins = [("", "libgomp.so.1"), ("GOMP_parallel", "libgomp.so.1"), ("assemble", "app")];
        assert_eq!(told(&spins), Some((Peers::OpenMp, "GOMP_parallel", "assemble")));
        let joins = [("__kmp_join_barrier", "libiomp5.so"), ("assemble", "app")];
        assert_eq!(told(&joins), Some((Peers::OpenMp, "__kmp_join_barrier", "assemble")));
        let unnamed = [("syscall", "libc.so.6"), ("", "libgomp.so.1"), ("", "app"), ("main", "app")];
        assert_eq!(told(&unnamed), Some((Peers::OpenMp, "", "main")));
        // The thread works on its share.
        assert_eq!(told(&[("assemble._omp_fn.0", "app"), spins[1], spins[2]]), None);
        assert_eq!(told(&[("gomp_malloc", "libgomp.so.1"), ("assemble", "app")]), None);
        assert_eq!(told(&[("", "libgomp.so.1"), ("GOMP_target_ext", "libgomp.so.1"), ("assemble", "app")]), None);
    }

    #[test]
    fn nccl_waits_where_processes_find_each_other() {
        let finds = [
            ("poll", "libc.so.6"),
            ("bootstrapAllGather", "libnccl.so.2"),
            ("ncclCommInitRank", "libnccl.so.2"),
            ("start", "app"),
        ];
        assert_eq!(told(&finds), Some((Peers::Nccl, "ncclCommInitRank", "start")));
        assert_eq!(told(&finds[..2]), Some((Peers::Nccl, "bootstrapAllGather", "")));
        assert_eq!(told(&[("ncclLaunchKernel", "libnccl.so.2"), ("ncclGroupEnd", "libnccl.so.2")]), None);
    }
}
