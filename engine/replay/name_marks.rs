//! What replays ask of the names of kernels beyond their roles: each name is searched once for a recording, however often it is launched
//! and played again.

/// In the names of kernels that PyTorch launches for a list of tensors.
pub const MANY_TENSORS: &str = "multi_tensor_apply";
/// In the names of kernels that sort.
const SORTS: [&str; 6] = [
    "DeviceMergeSort",
    "DeviceRadixSort",
    "DeviceSegmentedRadixSort",
    "DeviceSegmentedSort",
    "radixSortKV",
    "bitonicSortKV",
];
/// In the names of kernels that fill memory with one value.
const FILLS: [&str; 1] = ["FillFunctor"];
/// In the names of kernels that look for what a mask chooses: they compute where it is.
const SEARCHES: &str = "cub::";
/// In the names of kernels of cuDNN that convolve by Winograd's method.
const WINOGRAD: &str = "winograd";
/// In the names of kernels of frameworks that programs in Python call: of PyTorch and CuPy.
const PYTHON: [&str; 2] = ["at::native::", "cupy_"];

/// What the words in the name of a kernel tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NameMarks {
    /// It sorts.
    pub is_sort: bool,
    /// It fills memory with one value.
    pub is_fill: bool,
    /// It looks for what is chosen, and copies nothing of it.
    pub searches: bool,
    /// It works through a list of tensors, piece by piece, as those of optimizers do.
    pub is_of_many_tensors: bool,
    /// It convolves by Winograd's method.
    pub is_winograd: bool,
    /// It is of a framework that Python calls.
    pub is_of_python: bool,
}

impl NameMarks {
    /// Of a name, short or whole.
    pub fn of(name: &str) -> Self {
        let has_any = |words: &[&str]| words.iter().any(|word| name.contains(word));
        Self {
            is_sort: has_any(&SORTS),
            is_fill: has_any(&FILLS),
            searches: name.contains(SEARCHES),
            is_of_many_tensors: name.contains(MANY_TENSORS),
            is_winograd: name.contains(WINOGRAD),
            is_of_python: has_any(&PYTHON),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_tell() {
        let told = |name: &str| {
            let marks = NameMarks::of(name);
            [marks.is_sort, marks.searches, marks.is_of_many_tensors, marks.is_winograd, marks.is_of_python]
        };
        assert_eq!(told(""), [false; 5]);
        assert_eq!(told("void cub::DeviceRadixSortOnesweepKernel<int>"), [true, true, false, false, false]);
        assert_eq!(told("void at::native::radixSortKVInPlace<2>(float*)"), [true, false, false, false, true]);
        assert_eq!(told("void at::native::multi_tensor_apply_kernel<Adam>"), [false, false, true, false, true]);
        assert_eq!(told("cudnn::winograd_nonfused::winogradForwardData4x4"), [false, false, false, true, false]);
        assert_eq!(told("cupy_add__float_float32"), [false, false, false, false, true]);
        let fill = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>";
        assert!(NameMarks::of(fill).is_fill && !NameMarks::of("cupy_add__float_float32").is_fill);
    }
}
