//! Facts files that a test changes: the numbers of a fixture, and other ones in their places.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::cli::{Printed, coldspot};
use super::{fixtures, temp};

pub fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

/// The facts of a fixture as JSON.
pub fn facts(name: &str) -> Value {
    coldspot(&["facts", &fixture(name), "--format", "json"]).success().json()
}

/// A folder of one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(temp::folder())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, value: &Value) -> String {
        std::fs::write(self.path(name), value.to_string()).unwrap();
        self.path(name).display().to_string()
    }
}

/// Every entity of a kind, to change.
pub fn each(facts: &mut Value, kind: &str, mut change: impl FnMut(&mut Value)) {
    facts[kind].as_array_mut().unwrap().iter_mut().for_each(&mut change);
}

/// All times of all entities, longer or shorter.
pub fn scaled(mut facts: Value, factor: f64) -> Value {
    let kinds =
        ["devices", "streams", "kernels", "launch_shapes", "copy_groups", "sync_groups", "ranges", "steps", "phases"];
    for kind in kinds {
        each(&mut facts, kind, |entity| {
            for (name, value) in entity.as_object_mut().unwrap() {
                if let Some(ns) = value.as_i64().filter(|_| name.ends_with("_ns")) {
                    *value = json!((ns as f64 * factor).round() as i64);
                }
            }
        });
    }
    facts
}

/// What a capture without annotations would hold.
pub fn without_steps(mut facts: Value) -> Value {
    facts["steps"] = json!([]);
    each(&mut facts, "devices", |device| {
        device.as_object_mut().unwrap().retain(|name, _| !name.contains("step") && !name.starts_with("steady"));
    });
    facts
}

/// The first kernel, which owns one of so many parts of what it did: others may own the rest.
pub fn first_of(facts: &mut Value, count: i64) -> Value {
    let kernel = facts["kernels"][0]["id"].clone();
    let share = |entity: &mut Value| {
        for name in ["attributed_ns", "underfilled_ns", "unused_sm_ns"] {
            if let Some(ns) = entity[name].as_i64() {
                entity[name] = json!(ns / count);
            }
        }
    };
    share(&mut facts["kernels"][0]);
    let shapes = facts["launch_shapes"].as_array_mut().unwrap();
    shapes.iter_mut().filter(|shape| shape["kernel"] == kernel).for_each(share);
    facts["kernels"][0].clone()
}

/// A GPU that spends so much of its idle time in host code; the rest of that is not known. The ledger stays whole.
pub fn with_host_code(device: &mut Value, ns: i64) {
    let of = |device: &Value, name: &str| device[name].as_i64().unwrap_or(0);
    let unknown_ns = of(device, "idle_unknown_ns") + of(device, "idle_host_ns") - ns;
    for (name, value) in device.as_object_mut().unwrap() {
        if let Some(longest) =
            value.as_i64().filter(|_| ["idle_host_once_ns", "idle_host_longest_ns"].contains(&&**name))
        {
            *value = json!(longest.min(ns));
        }
    }
    device["idle_host_ns"] = json!(ns);
    device["idle_unknown_ns"] = json!(unknown_ns);
}
