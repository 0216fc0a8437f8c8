//! What global ids are made of.

use crate::timeline::builder::ThreadKey;

/// The key of a thread: the upper bits of a global id are its hardware, virtual machine and process.
pub(super) const fn thread_key(global_id: i64) -> ThreadKey {
    ThreadKey { process: process_key(global_id), id: global_id }
}

/// The process part of a global id: hardware, virtual machine and process, without the thread.
pub(super) const fn process_key(global_id: i64) -> i64 {
    global_id >> 24
}
