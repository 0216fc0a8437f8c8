//! Operators that factorise matrices one by one, and ask for the error code of each.

use super::trace::{STEP_COUNT, TO_HOST, Trace};
use crate::support::cli::{Printed, coldspot};

const COUNT: u32 = 12;

/// Steps that call an operator so often, whose kernels run, and whose error code is read back; and one other kernel.
pub(crate) fn factorized(operator: &str) -> Trace {
    Trace::of_steps(|trace| {
        for _ in 0..COUNT {
            let begin = trace.host_us;
            trace.launch("getrf_pivot", 30.0);
            trace.launch("trsm", 10.0);
            trace.copy(TO_HOST, 1.0);
            trace.wait();
            let length = trace.host_us - begin;
            for (name, inset) in [(operator, 0.0), ("aten::_linalg_check_errors", 0.25)] {
                trace.events.event("cpu_op", name, 99, begin - 0.5 + inset, length - 2.0 * inset, "");
            }
        }
        trace.launch("filter_kernel", 100.0);
        trace.wait();
    })
}

#[test]
fn matrices_that_are_factorised_one_by_one_are_told() {
    let trace = factorized("aten::linalg_inv");
    assert_eq!(trace.fact("factorization_count"), f64::from(COUNT * STEP_COUNT));
    assert_eq!(trace.fact("factorization_kernel_ns"), f64::from(40_000 * COUNT * STEP_COUNT));
    assert_eq!(trace.fact("scalar_readback_operator_share"), 1.0);
    let (of_calls, window) = (trace.fact("factorization_ns"), trace.fact("window_ns"));
    assert!((0.7..0.95).contains(&(of_calls / window)), "{of_calls} {window}");
    let facts = trace.facts();
    assert!(facts.contains(r#""factorization_operator":"aten::linalg_inv""#), "{facts}");
    assert!(facts.contains(r#""scalar_readback_operator":"aten::linalg_inv""#), "{facts}");
    let (folder, path) = trace.write();
    let review = coldspot(&["review", &path.to_string_lossy(), "--format", "markdown"]).success().out();
    drop(folder);
    assert!(review.contains("(`looped-factorization`)") && review.contains("`torch.linalg.inv_ex`"), "{review}");
}

#[test]
fn other_operators_factorise_nothing() {
    let facts = factorized("aten::index_put_").facts();
    assert!(!facts.contains("factorization_count"), "{facts}");
    assert!(facts.contains(r#""scalar_readback_operator":"aten::index_put_""#), "{facts}");
}
