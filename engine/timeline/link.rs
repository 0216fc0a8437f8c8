//! What copies between pinned host memory and a GPU reach, as far as the GPU alone tells. No recording names the link's generation:
//! the slower of host and GPU sets it.

use super::DeviceProperties;

/// What large pinned copies reach over 16 lanes, by generation of PCIe, in 1e9 bytes a second.
const PCIE3: f64 = 12.5;
const PCIE4: f64 = 25.0;
const PCIE5: f64 = 52.0;
/// Cards with 8 lanes, which carry half as much.
const HALF: [&str; 6] = ["RTX 3050", "RTX 4050", "RTX 4060", "RTX 4070 Laptop", "RTX 5050", "RTX 5060"];
/// GPUs on boards that are sold with hosts of PCIe 5.0 alone, or with a faster link; the same names with one of `CARDS` are cards for
/// any host.
const ON_BOARDS: [&str; 9] =
    ["H100 80GB HBM3", "H100 64GB HBM3", "H20", "H200", "GH200", "H800", "B200", "B300", "GB300"];
const CARDS: [&str; 2] = ["NVL", "PCIe"];

/// How fast pinned copies are where the recording holds too few of them to measure, in 1e9 bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRates {
    /// What they usually reach at least: over a link that is no older than PCIe 3.0, or than all hosts of the GPU have.
    pub least: f64,
    /// What they reach at most: with a host whose link is no older than the GPU's.
    pub most: f64,
}

impl LinkRates {
    /// Of a GPU, as far as it is known.
    pub fn of(device: Option<&DeviceProperties>) -> Self {
        let name = device.and_then(|device| device.name.as_deref()).unwrap_or("");
        let holds_any = |parts: &[&str]| parts.iter().any(|part| name.contains(*part));
        let lanes = if holds_any(&HALF) { 0.5 } else { 1.0 };
        let most = match device.and_then(|device| device.compute_capability) {
            Some((..=7, _)) => PCIE3,
            Some((8, _)) => PCIE4,
            // Without a name of its generation it may be any.
            Some(_) | None => PCIE5,
        };
        let is_on_board = holds_any(&ON_BOARDS) && !holds_any(&CARDS);
        Self { least: lanes * if is_on_board { most } else { PCIE3 }, most: lanes * most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(compute_capability: (i64, i64), name: &str) -> (f64, f64) {
        let device = DeviceProperties {
            name: Some(name.to_owned()),
            compute_capability: Some(compute_capability),
            ..DeviceProperties::default()
        };
        let rates = LinkRates::of(Some(&device));
        (rates.least, rates.most)
    }

    #[test]
    fn a_card_is_as_fast_as_an_old_host_lets_it() {
        assert_eq!(of((8, 9), "NVIDIA GeForce RTX 4090"), (PCIE3, PCIE4));
        assert_eq!(of((8, 0), "NVIDIA A100-SXM4-40GB"), (PCIE3, PCIE4), "such boards are sold with hosts of PCIe 3.0");
        assert_eq!(of((9, 0), "NVIDIA H100 PCIe"), (PCIE3, PCIE5));
        assert_eq!(of((9, 0), "NVIDIA H200 NVL"), (PCIE3, PCIE5));
        assert_eq!(of((7, 5), "Tesla T4"), (PCIE3, PCIE3));
        assert_eq!(LinkRates::of(None), LinkRates { least: PCIE3, most: PCIE5 });
    }

    #[test]
    fn a_board_comes_with_its_host() {
        assert_eq!(of((9, 0), "NVIDIA H200"), (PCIE5, PCIE5));
        assert_eq!(of((9, 0), "NVIDIA H100 80GB HBM3"), (PCIE5, PCIE5));
    }

    #[test]
    fn eight_lanes_carry_half() {
        assert_eq!(of((12, 0), "NVIDIA GeForce RTX 5060 Ti"), (PCIE3 / 2.0, PCIE5 / 2.0));
    }
}
