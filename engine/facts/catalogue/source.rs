//! Facts of the line of code that something comes from: the same for kernels, copies and waits.

use super::FactType::{Bool, Float, Int, Text};
use super::Scaling::{Incomparable, Intensive};
use super::{Fact, fact};
use crate::timeline::Capability::CallStacks;

pub(super) const SOURCE: &[Fact] = &[
    fact(
        "source_file",
        Text,
        CallStacks,
        Incomparable,
        "The file of the program's own code whose calls ask for most of its time: relative to the project's folder (that of coldspot.toml, else the working directory) where it lies below it, else without folders. Where stacks name functions but no lines, the program or library that the function is in. Absent when nothing has half of the time.",
    ),
    fact(
        "source_line",
        Int,
        CallStacks,
        Incomparable,
        "The line in that file, counted from 1. Absent where stacks name functions only.",
    ),
    fact(
        "source_function",
        Text,
        CallStacks,
        Incomparable,
        "The function that the line is in; with Python frames the line is the one at which it begins. Absent where stacks name no function.",
    ),
    fact("source_share", Float, CallStacks, Intensive, "The part of its time that comes from that line."),
    fact("is_source_in_project", Bool, CallStacks, Incomparable, "Whether that file lies below the project's folder."),
];
