//! Peak rates of dense matrix products on tensor cores, against that of plain fp32.

use super::DeviceProperties;

/// How many times the peak rate of plain fp32 a GPU reaches on tensor cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorRatios {
    /// In fp16 or bf16 with sums in fp32.
    pub half: f64,
    /// In TF32; `None` where there is none.
    pub tf32: Option<f64>,
}

/// By compute capability, as NVIDIA's data sheets give the rates of its GPUs, without sparsity: V100, T4, A100, A40, L40S, H100
/// (989 and 495 over 67 TFLOPS), H20 (148 and 74 over 44), GB200 (2,500 and 1,250 over 80), RTX PRO 6000 Blackwell. `None` without
/// tensor cores, or where no data sheet is known.
pub fn tensor_ratios(compute_capability: (i64, i64), name: Option<&str>) -> Option<TensorRatios> {
    let name = name.unwrap_or("");
    let (half, tf32) = match compute_capability {
        (7, 5) if LACKING.iter().any(|card| name.contains(card)) => return None,
        (7, _) => (8.0, None),
        (8, 0) => (16.0, Some(8.0)),
        (8, 6 | 9) | (12, _) => (4.0, Some(2.0)),
        (9, _) if name.contains("H20") && !name.contains("H200") => (3.4, Some(1.7)),
        (9, _) => (14.8, Some(7.4)),
        (10, _) => (31.2, Some(15.6)),
        _ => return None,
    };
    // Cards for games sum up in fp32 at half the rate of professional ones of the same generation.
    let part = if name.contains("GeForce") { 0.5 } else { 1.0 };
    Some(TensorRatios { half: part * half, tf32: tf32.map(|tf32: f64| part * tf32) })
}

/// How many times the peak rate of fp64 a GPU reaches in plain fp32, by compute capability, as NVIDIA's data sheets and the
/// programming guide give it: with fp64 on tensor cores where there is that (A100, H100, B200). `None` where neither says it.
fn fp64_ratio(compute_capability: (i64, i64), name: Option<&str>) -> Option<f64> {
    let name = name.unwrap_or("");
    Some(match compute_capability {
        (6, 0) | (7, 0) => 2.0,
        (5, _) | (6, 1) | (7, 5) => 32.0,
        (8, 0) => 1.0,
        (8, 6 | 9) | (10, 3) | (12, _) => 64.0,
        (9, _) if name.contains("H20") && !name.contains("H200") => 44.0,
        (9, _) => 1.0,
        (10, 0) => 2.0,
        _ => return None,
    })
}

/// How many warp schedulers an SM has, each with warps of its own: four since Kepler, but for GP100.
const fn sm_scheduler_count(compute_capability: (i64, i64)) -> Option<i64> {
    match compute_capability {
        (6, 0) => Some(2),
        (3.., _) => Some(4),
        _ => None,
    }
}

impl DeviceProperties {
    /// How many warp schedulers each of its SMs has.
    pub fn sm_scheduler_count(&self) -> Option<i64> {
        self.compute_capability.and_then(sm_scheduler_count)
    }

    /// How many times the peak rate of its fp64 plain fp32 reaches.
    pub fn fp64_ratio(&self) -> Option<f64> {
        fp64_ratio(self.compute_capability?, self.name.as_deref())
    }

    /// What its tensor cores reach; `None` where its compute capability is not known either.
    pub fn tensor_ratios(&self) -> Option<TensorRatios> {
        tensor_ratios(self.compute_capability?, self.name.as_deref())
    }
}

/// Cards of the Turing generation that lack tensor cores.
const LACKING: [&str; 10] = ["GTX 16", "MX450", "MX550", "T400", "T500", "T550", "T600", "T1000", "T1200", "T2000"];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(compute_capability: (i64, i64), name: &str) -> Option<(f64, Option<f64>)> {
        tensor_ratios(compute_capability, Some(name)).map(|ratios| (ratios.half, ratios.tf32))
    }

    #[test]
    fn only_one_sm_has_two_schedulers() {
        assert_eq!([(6, 0), (6, 1), (9, 0), (2, 0)].map(sm_scheduler_count), [Some(2), Some(4), Some(4), None]);
    }

    #[test]
    fn cards_for_games_reach_half() {
        assert_eq!(of((8, 6), "NVIDIA GeForce RTX 3060"), Some((2.0, Some(1.0))));
        assert_eq!(of((8, 6), "NVIDIA A40"), Some((4.0, Some(2.0))));
        assert_eq!(of((7, 5), "NVIDIA GeForce RTX 2080 Ti"), Some((4.0, None)));
    }

    #[test]
    fn not_all_of_a_generation_have_tensor_cores() {
        assert_eq!(of((7, 5), "NVIDIA GeForce GTX 1660 Ti"), None);
        assert_eq!(of((7, 5), "Tesla T4"), Some((8.0, None)));
        assert_eq!(of((7, 5), "Quadro T2000"), None);
        assert_eq!(of((8, 7), "Orin"), None);
    }

    #[test]
    fn double_precision_is_slow_on_cards_for_games() {
        assert_eq!(fp64_ratio((8, 6), None), Some(64.0));
        assert_eq!(fp64_ratio((7, 5), Some("Tesla T4")), Some(32.0));
        assert_eq!(fp64_ratio((9, 0), Some("NVIDIA H200")), Some(1.0));
        assert_eq!(fp64_ratio((9, 0), Some("NVIDIA H20")), Some(44.0));
        assert_eq!(fp64_ratio((8, 7), Some("Orin")), None);
    }

    #[test]
    fn one_of_its_generation_has_less_of_them() {
        assert_eq!(of((9, 0), "NVIDIA H20"), Some((3.4, Some(1.7))));
        assert_eq!(of((9, 0), "NVIDIA H200"), Some((14.8, Some(7.4))));
    }
}
