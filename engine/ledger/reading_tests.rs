//! What idle time adds up to.

use super::*;
use crate::timeline::union::Union;

#[test]
fn sums_of_many_threads_take_no_more_room_than_there_are_labels() {
    let mut sums = RangeSums::default();
    let idle = RangeIdle { idle_ns: 1, ..RangeIdle::default() };
    for _ in 0..100 {
        let mut of_thread = ByLabel::default();
        (0..5_000).for_each(|label| of_thread.merge(label % 2_500, idle));
        sums.extend(of_thread.into_sums().into_iter().map(|(label, idle)| ((7, label), idle)));
    }
    assert_eq!(sums.all.len(), 2_500);
    let of_one = sums.iter().filter(|(key, _)| *key == (7, 2_499)).map(|(_, idle)| idle.idle_ns);
    assert_eq!(of_one.sum::<i64>(), 200);
}

#[test]
fn what_processes_have_under_one_label_stays_apart() {
    let mut sums = RangeSums::default();
    let idle = |idle_ns| RangeIdle { idle_ns, ..RangeIdle::default() };
    for (process, label, ns) in [(7, 3, 1), (8, 3, 10), (7, 5, 100), (8, 3, 1_000), (7, 3, 10_000), (9, 3, 5)] {
        sums.extend([((process, label), idle(ns))].into_iter());
    }
    let all: Vec<_> = sums.iter().map(|(key, idle)| (key, idle.idle_ns)).collect();
    assert_eq!(all, [((7, 3), 10_001), ((8, 3), 1_010), ((7, 5), 100), ((9, 3), 5)]);
}

#[test]
fn of_parts_that_lie_apart_the_longest_is_told() {
    let mut sum = TimeSum::default();
    sum.add_part(Interval::new(0, 20), true);
    for (start, end, is_same) in [(100, 102, false), (110, 120, true), (120, 150, true), (160, 195, true)] {
        sum.add_part(Interval::new(start, end), is_same);
    }
    assert_eq!((sum.count, sum.longest_ns, sum.longest_start_ns), (2, 40, 110));
    // The piece is all of them.
    assert_eq!(sum.longest_pieces_ns(), [77, 20, 0]);
    sum.add_part(Interval::new(200, 210), false);
    assert_eq!((sum.longest_ns, sum.longest_start_ns), (40, 110));
}

#[test]
fn what_grows_with_each_size_that_is_tried_is_told_from_what_occurs_once() {
    let sum = |lengths_ns: &[i64]| {
        let mut sum = TimeSum::default();
        for (index, length_ns) in lengths_ns.iter().enumerate() {
            let start_ns = index as i64 * 10_000;
            sum.add(Interval::new(start_ns, start_ns + length_ns));
        }
        sum
    };
    let is_of_sizes = |lengths_ns: &[i64]| sum(lengths_ns).is_of_sizes();
    assert!(is_of_sizes(&[3, 5, 30, 59, 118, 233, 465, 928, 1826]));
    assert!(is_of_sizes(&[1826, 928, 465, 233, 118, 59, 2]), "the largest size first");
    assert!(!is_of_sizes(&[59, 233, 118, 465, 928, 1826]), "in no order");
    assert!(!is_of_sizes(&[9, 118, 233, 465, 928, 1826]), "not each is about as much more");
    assert!(!is_of_sizes(&[950, 960, 970, 980, 990, 1000]), "nor more at all");
    assert!(!is_of_sizes(&[233, 465, 928, 1826]), "too few");
    let mut merged = sum(&[3, 5, 30, 59, 118, 233]);
    merged.merge(sum(&[0, 0, 0, 0, 0, 0, 465, 928, 1826]));
    assert!(merged.is_of_sizes());
    assert_eq!(merged.longest_pieces_ns(), [1826, 928, 465]);
}

#[test]
fn pieces_as_far_from_each_other_as_their_window_has_room_for_come_again() {
    let is_even = |pieces: &[(i64, i64)]| {
        let mut sum = TimeSum::default();
        pieces.iter().for_each(|(start, len_ns)| sum.add(Interval::new(*start, start + len_ns)));
        sum.is_evenly_spaced(Interval::new(0, 1000))
    };
    assert!(is_even(&[(100, 50), (400, 48), (405, 1), (720, 55)]));
    assert!(!is_even(&[(100, 50), (200, 48), (300, 55)]), "a longer window holds more of them");
    assert!(!is_even(&[(100, 50), (200, 48), (720, 55)]), "at no like distances");
    assert!(!is_even(&[(100, 50), (400, 20), (720, 55)]), "of no like length");
    assert!(!is_even(&[(100, 50), (720, 55)]), "two may begin and end a run");
    assert!(!is_even(&[]));
}

#[test]
fn pauses_are_weighed_by_their_host_code() {
    let rounds = Union::of([Interval::new(100, 200), Interval::new(300, 400)]);
    let mut follower = Follower::new(&rounds);
    let mut host = HostAndRounds::default();
    // Before the rounds, within one, from one into the pause behind it, in that pause, and after them.
    for (start, end) in [(0, 10), (20, 30), (110, 120), (190, 240), (250, 260), (500, 505)] {
        host.add(Interval::new(start, end), &mut follower);
    }
    assert_eq!(host.longest_pauses_ns(), [50, 20, 5]);
    assert_eq!((host.within_ns(), host.outside_ns()), (20, 75));
}
