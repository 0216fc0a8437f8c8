//! What the tests in a rule file must say.

use super::{broken, check};

#[test]
fn tests_assert_something_and_cover_the_outcomes() {
    check(
        "expect = { outcome = \"pass\" }",
        "expect = {}",
        &[
            "2: a test that expects `pass` is missing",
            "49: the test `hidden` asserts nothing: write `expect = { outcome = \"pass\" }`",
        ],
    );
    check(
        "expect = { outcome = \"unknown\" }",
        "",
        &[
            "2: a test that expects `unknown` is missing: `device.window_ns` may be absent",
            "51: the test `no window` asserts nothing: write `expect = { outcome = \"pass\" }`",
        ],
    );
    check(
        "outcome = \"pass\"",
        "outcome = \"pass\", recoverable_ns = 3",
        &[
            "49: `recoverable_ns`, `confidence`, `severity`, `summary`, `title`, `evidence`, `advice` and `unsaid` can be expected of a finding only",
        ],
    );
    check("name = \"no window\"", "name = \"hidden\"", &["51: two tests are named `hidden`"]);
    check(
        "unset = [\"device.window_ns\"]",
        "unset = [\"device.sm_count\"]",
        &["52: `unset` names `device.sm_count`, which [example] does not set"],
    );
    check("exposed_ns = 1 }", "exposed_ns = 1.5 }", &["48: `copy_group.exposed_ns` is an integer"]);
    check(
        "host_memory = \"pageable\"",
        "host_memory = \"pagable\"",
        &["43: `copy_group.host_memory` is never 'pagable'; did you mean `pageable`?"],
    );
    check(
        "window_ns = 2000",
        "windo_ns = 2000",
        &[
            "44: `device` has no fact `windo_ns`; did you mean `window_ns`?",
            "52: `unset` names `device.window_ns`, which [example] does not set",
        ],
    );
}

#[test]
fn a_test_that_only_repeats_the_example_is_none() {
    let pass = "expect = { outcome = \"pass\" }";
    let again = "the test `hidden` says no more than [example], which runs as a test too: change a fact, or expect a number or words";
    let found = broken(&format!("set = {{ copy_group.exposed_ns = 1 }}\n{pass}"), "expect = { outcome = \"finding\" }");
    assert!(found.contains(&format!("47: {again}")), "{found:?}");
    let found = broken(
        &format!("set = {{ copy_group.exposed_ns = 1 }}\n{pass}"),
        "expect = { outcome = \"finding\", confidence = \"high\" }",
    );
    assert!(found.iter().all(|fault| !fault.contains("says no more")), "{found:?}");
}
