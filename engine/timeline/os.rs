//! What an OS runtime call does, told from its name.

/// What a thread does in an OS runtime call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OsClass {
    /// Waits for another thread, a timer or a descriptor.
    Wait,
    /// Reads or writes files, pipes or sockets.
    Io,
    /// Maps or unmaps memory.
    Map,
    /// Talks to a driver.
    Driver,
    /// Anything else.
    Other,
}

const BEGINNINGS: [(&str, OsClass); 33] = [
    ("poll", OsClass::Wait),
    ("ppoll", OsClass::Wait),
    ("epoll", OsClass::Wait),
    ("select", OsClass::Wait),
    ("pselect", OsClass::Wait),
    ("futex", OsClass::Wait),
    ("sem_", OsClass::Wait),
    ("pthread_cond_", OsClass::Wait),
    ("pthread_mutex_", OsClass::Wait),
    ("pthread_rwlock_", OsClass::Wait),
    ("pthread_join", OsClass::Wait),
    ("pthread_barrier", OsClass::Wait),
    ("nanosleep", OsClass::Wait),
    ("clock_nanosleep", OsClass::Wait),
    ("usleep", OsClass::Wait),
    ("sleep", OsClass::Wait),
    ("wait", OsClass::Wait),
    ("sched_yield", OsClass::Wait),
    ("accept", OsClass::Wait),
    ("connect", OsClass::Wait),
    ("mmap", OsClass::Map),
    ("munmap", OsClass::Map),
    ("mremap", OsClass::Map),
    ("madvise", OsClass::Map),
    ("ioctl", OsClass::Driver),
    ("read", OsClass::Io),
    ("pread", OsClass::Io),
    ("fread", OsClass::Io),
    ("write", OsClass::Io),
    ("open", OsClass::Io),
    ("fopen", OsClass::Io),
    ("recv", OsClass::Io),
    ("send", OsClass::Io),
];

/// What a call of this name does.
pub fn classify(name: &str) -> OsClass {
    BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)).map_or(OsClass::Other, |(_, class)| *class)
}
