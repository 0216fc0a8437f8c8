//! Which files of a call stack are the program's own code, and which are those of what it uses.

use std::cell::RefCell;
use std::path::Path;

use foldhash::HashMap;

use crate::text::paths;

/// Folders of code that the program uses but is not: of packages, and of PyTorch's own sources.
const FOREIGN: [&str; 8] =
    ["site-packages", "dist-packages", "torch", "aten", "c10", "caffe2", "importlib", "torchinductor"];

/// Packages that programs of PyTorch use: the profiler cuts off the folders that packages are installed in.
const PACKAGES: &str = "IPython PIL absl accelerate albumentations apex bitsandbytes boto3 click colab_kernel_launcher \
    colossalai cuda cupy cv2 \
    datasets deepspeed detectron2 dgl diffusers einops evaluate fairscale fastai fire flash_attn flashinfer fsspec functorch \
    h5py huggingface_hub hydra ignite ipykernel ipykernel_launcher jax jaxlib joblib jsonargparse jupyter_client kornia lightning \
    lightning_fabric litgpt llvmlite lpips matplotlib megatron mlflow monai multiprocess networkx ninja nltk numba numpy \
    omegaconf onnx onnxruntime open_clip opt_einsum packaging pandas peft pkg_resources pluggy psutil pyarrow pydantic \
    pytest pytorch_lightning ray regex requests rich sacrebleu safetensors scipy seaborn sentencepiece setuptools sglang \
    six skimage sklearn sympy tensorboard tensorboardX tensorflow timm tokenizers torch_geometric torch_npu torch_scatter \
    torch_tensorrt torch_xla torchao torchaudio torchdata torchmetrics torchrec torchtext torchtune torchvision tornado \
    tqdm traitlets transformer_engine transformers triton trl typer typing_extensions ultralytics unsloth urllib3 vllm \
    wandb webdataset xformers yaml zmq";

/// Python's own library, but for names that programs like to have.
const LIBRARY: &str = "_bootlocale _collections_abc _weakrefset abc argparse ast asyncio base64 bdb bisect bz2 cProfile \
    calendar codecs collections concurrent configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime \
    decimal difflib dis distutils email encodings enum fnmatch fractions functools genericpath getpass gettext glob graphlib \
    gzip hashlib heapq hmac html http imp importlib inspect io ipaddress json keyword linecache locale logging lzma mimetypes \
    multiprocessing numbers opcode operator optparse os pathlib pdb pickle pkgutil platform posixpath pprint pstats pydoc \
    queue random re reprlib runpy sched secrets selectors shlex shutil socket socketserver sqlite3 sre_compile sre_constants \
    sre_parse ssl stat statistics string struct subprocess sysconfig tarfile tempfile textwrap threading timeit tokenize \
    traceback tracemalloc types typing unittest urllib uuid warnings weakref xml zipfile zipimport zoneinfo";

/// More than any file has.
const MAX_LINES: u32 = 10_000_000;

/// A number of a line that a file can have.
pub(super) fn line(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|line| (1..=MAX_LINES).contains(line))
}

/// Whether a path says that it is of a package, of Python's library, or of no file.
pub(super) fn is_foreign(path: &str) -> bool {
    let mut before = "";
    path.contains('<')
        || path.split(['/', '\\']).any(|part| {
            let is_library = before.starts_with("lib") && part.starts_with("python");
            before = part;
            is_library || FOREIGN.contains(&part) || part.starts_with("torchinductor_")
        })
}

/// Whether a frame is of PyTorch's profiler, or of one like it, also where nothing but the file's own name is left of the path: what is
/// recorded is recorded from there, and the program's line is the one that called it.
pub(super) fn is_profiler(path: &str, function: &str) -> bool {
    const FUNCTIONS: [&str; 6] = ["__init__", "__enter__", "__exit__", "__call__", "step", "_transit_action"];
    paths::file_name(path) == "profiler.py" && FUNCTIONS.contains(&function)
}

/// Whether a frame is a function of PyTorch that no other library has: whatever folder its file lies in holds no code of the program's.
pub(super) fn is_torch(path: &str, function: &str) -> bool {
    const FUNCTIONS: [(&str, &str); 4] = [
        ("dataloader.py", "_next_data"),
        ("module.py", "_call_impl"),
        ("grad_mode.py", "decorate_context"),
        ("_contextlib.py", "decorate_context"),
    ];
    FUNCTIONS.contains(&(paths::file_name(path), function))
}

/// Whether a path is foreign whose beginning is cut off, as far as the names of packages tell.
pub(super) fn is_package(path: &str) -> bool {
    let first = path.split(['/', '\\']).next().unwrap_or(path);
    let name = first.strip_suffix(".py").unwrap_or(first);
    [PACKAGES, LIBRARY].iter().any(|names| names.split(' ').any(|known| known == name))
}

/// So many files are looked for: a project has fewer, and each look may go over a network.
const MAX_LOOKED_COUNT: usize = 10_000;
/// Files below a project have shorter paths.
const MAX_PATH_BYTES: usize = 1_024;

/// The folder of a project, and which files were found in it.
pub(super) struct Project<'a> {
    root: &'a Path,
    found: RefCell<HashMap<String, bool>>,
}

impl<'a> Project<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, found: RefCell::default() }
    }

    /// The path from the project's folder on. A relative one is from wherever the program ran: it counts where it leads to a
    /// file of the project.
    pub(super) fn path(&self, path: &str) -> Option<String> {
        if Path::new(path).is_absolute() {
            let below = Path::new(path).strip_prefix(self.root).ok()?;
            return paths::inside(below.to_str()?).ok();
        }
        paths::inside(path).ok().filter(|file| self.holds(file))
    }

    fn holds(&self, file: &str) -> bool {
        let mut found = self.found.borrow_mut();
        if let Some(is_found) = found.get(file) {
            return *is_found;
        }
        if found.len() >= MAX_LOOKED_COUNT || file.len() > MAX_PATH_BYTES {
            return false;
        }
        let is_found = self.root.join(file).is_file();
        found.insert(file.to_owned(), is_found);
        is_found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_for_once_and_only_so_many_are() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::new(folder.path());
        let file = folder.path().join("train.py");
        std::fs::write(&file, "").unwrap();
        assert_eq!(project.path("train.py").as_deref(), Some("train.py"));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(project.path("train.py").as_deref(), Some("train.py"), "known");
        assert!((0..MAX_LOOKED_COUNT).all(|n| project.path(&format!("{n}.py")).is_none()));
        std::fs::write(folder.path().join("late.py"), "").unwrap();
        assert_eq!(project.path("late.py"), None, "no more are looked for");
        let whole = folder.path().join("late.py");
        assert_eq!(whole.to_str().and_then(|path| project.path(path)).as_deref(), Some("late.py"));
    }

    #[test]
    fn packages_are_told_by_folder_or_name() {
        for path in [
            "/usr/lib/python3.12/threading.py",
            "torch/nn/modules/module.py",
            "<frozen importlib._bootstrap>",
            "/opt/venv/lib/python3.12/site-packages/x/y.py",
        ] {
            assert!(is_foreign(path), "{path}");
        }
        for path in [
            "transformers/models/bert.py",
            "contextlib.py",
            "colab_kernel_launcher.py",
            "json/decoder.py",
            "tqdm/std.py",
        ] {
            assert!(is_package(path), "{path}");
        }
        assert!(is_profiler("/src/pytorch/profiler.py", "__enter__") && is_profiler("profiler.py", "step"));
        assert!(!is_profiler("profiler.py", "main") && !is_profiler("my_profiler.py", "step"));
        assert!(is_torch("/src/x/module.py", "_call_impl") && !is_torch("/src/x/module.py", "forward"));
        for path in ["train.py", "model/layers.py", "/home/me/train.py", "profile.py"] {
            assert!(!is_foreign(path) && !is_package(path), "{path}");
        }
    }
}
