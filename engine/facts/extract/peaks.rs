//! Peak rates of dense matrix products on tensor cores, against that of plain fp32.

/// How many times the peak rate of plain fp32 a GPU reaches on tensor cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratios {
    /// In fp16 or bf16 with sums in fp32.
    pub(super) half: f64,
    /// In TF32; `None` where there is none.
    pub(super) tf32: Option<f64>,
}

/// By compute capability: from the multiply-adds that an SM does in a clock, as the data sheets of its GPUs give them (V100,
/// T4, A100, A40, L40S, H100, B200, RTX PRO 6000 Blackwell). GeForce cards of the same capability reach half of it. `None` without
/// tensor cores, or where no data sheet is known.
pub(super) fn of((major, minor): (i64, i64), name: Option<&str>) -> Option<Ratios> {
    let (half, tf32) = match (major, minor) {
        (7, _) => (8.0, None),
        (8, 0) => (16.0, Some(8.0)),
        (8, 6 | 9) | (12, _) => (4.0, Some(2.0)),
        (9, _) => (16.0, Some(8.0)),
        (10, _) => (32.0, Some(16.0)),
        _ => return None,
    };
    let part = if name.is_some_and(is_geforce) { 0.5 } else { 1.0 };
    Some(Ratios { half: part * half, tf32: tf32.map(|tf32: f64| part * tf32) })
}

/// Cards for games sum up in fp32 at half the rate of professional ones of the same generation.
fn is_geforce(name: &str) -> bool {
    name.contains("GeForce")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_for_games_reach_half() {
        let of = |capability, name| of(capability, Some(name)).map(|ratios| (ratios.half, ratios.tf32));
        assert_eq!(of((8, 6), "NVIDIA GeForce RTX 3060"), Some((2.0, Some(1.0))));
        assert_eq!(of((8, 6), "NVIDIA A40"), Some((4.0, Some(2.0))));
        assert_eq!(of((7, 5), "NVIDIA GeForce RTX 2080 Ti"), Some((4.0, None)));
    }
}
