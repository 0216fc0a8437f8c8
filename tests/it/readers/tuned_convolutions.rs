//! Convolutions that try kernels before they run: once, or again with each new size of their inputs.

use crate::support::cli::{Printed, coldspot_in};
use crate::support::{temp, trace};

fn reviewed(text: &str) -> String {
    let folder = temp::folder();
    std::fs::write(folder.path().join("trace.json"), text).unwrap();
    coldspot_in(folder.path(), &["review", "trace.json", "--format", "markdown"]).out()
}

#[test]
fn trials_at_each_new_size_are_what_is_to_gain() {
    let review = reviewed(&trace::tuned_trace(5, 5, false));
    assert!(review.contains("### 1. Convolutions try kernels again and again (`convolution-retuning`)"), "{review}");
    assert!(review.contains("In 5 passes, forward and backward, cuDNN tries kernels"), "{review}");
    assert!(review.contains("20 operators launch 100 kernels for it"), "{review}");
    assert!(review.contains("Their inputs have 10 different sizes."), "{review}");
    let review = reviewed(&trace::tuned_trace(8, 8, true));
    assert!(review.contains("steps cuDNN tries kernels"), "{review}");
}

#[test]
fn trials_of_a_first_pass_come_once() {
    let review = reviewed(&trace::tuned_trace(40, 1, false));
    assert!(review.contains("`convolution-tuning`") && !review.contains("`convolution-retuning`"), "{review}");
    assert!(review.contains("(autotuning) keep the GPU idle for") && review.contains(", once (`"), "{review}");
    assert!(!reviewed(&trace::tuned_trace(40, 0, false)).contains("autotuning"));
}
