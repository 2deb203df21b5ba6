#include "tensor/device/gpu_probe.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fcntl.h>
#include <set>
#include <string_view>
#include <unistd.h>

namespace dt {

namespace {

namespace fs = std::filesystem;
using Kind = DriverProbe::Kind;

/// The oldest architecture for which the kernels are compiled.
constexpr int least_major = 8;

/// The first driver of each CUDA, for all its minor versions.
/// Source: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor
/// Version Compatibility".
struct LeastDriver {
  int cuda_major;
  const char* driver;
};
constexpr LeastDriver least_drivers[] = {{12, "r525"}, {13, "r580"}};

/// Returns whether CUDA_VISIBLE_DEVICES names no GPU at all: "", "-1", "NoDevFiles". CUDA reads the
/// list up to the first entry that names no GPU.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables".
bool hides_all(const std::string& visible) {
  const bool is_number = !visible.empty() && std::isdigit(static_cast<unsigned char>(visible[0])) != 0;
  return !is_number && !visible.starts_with("GPU-") && !visible.starts_with("MIG-");
}

std::string hidden(const DriverProbe& answer) {
  return fmt::format("CUDA_VISIBLE_DEVICES='{}' hides all GPUs", *answer.visible);
}

std::string why_unusable(const DriverProbe& answer) {
  switch (answer.kind) {
    case Kind::no_driver:
      if (answer.driver == 0) return "there is no NVIDIA driver";
      return fmt::format("the NVIDIA driver supports CUDA {} or older, not CUDA {} of this program",
                         cuda_version_text(answer.driver), cuda_version_text(answer.runtime));
    case Kind::no_gpu:
      return answer.visible ? hidden(answer) : "the NVIDIA driver finds no GPU";
    default:
      return "the NVIDIA driver cannot be used: " + answer.said;
  }
}

std::string remedy_of_old_driver(const DriverProbe& answer) {
  constexpr int least_cuda = 12;  // the oldest CUDA whose nvcc compiles C++20
  const int of_program = answer.runtime / 1000, of_driver = answer.driver / 1000;
  const auto* const least = std::ranges::find(least_drivers, of_program, &LeastDriver::cuda_major);
  std::string text = least == std::end(least_drivers)
                         ? std::string("update the driver")
                         : fmt::format("update the driver to {} or newer", least->driver);
  text += fmt::format(", or add the folder of cuda-compat-{}-{} to LD_LIBRARY_PATH (data-center GPUs only)",
                      of_program, answer.runtime % 1000 / 10);
  if (of_driver >= least_cuda && of_driver < of_program)
    text += fmt::format(", or build dt with CUDA {}", of_driver);
  return text;
}

std::string remedy_of(const DriverProbe& answer) {
  switch (answer.kind) {
    case Kind::no_driver:
      if (answer.driver > 0) return remedy_of_old_driver(answer);
      return "make libcuda.so.1 visible to the loader; in a container, use apptainer exec --nv or docker run "
             "--gpus all";
    case Kind::no_gpu:
      return answer.visible ? "name GPUs that nvidia-smi -L lists" : "see nvidia-smi and dmesg";
    case Kind::stub:
      return "remove the toolkit's stubs folder from LD_LIBRARY_PATH";
    case Kind::other_module:
      return "the driver was updated after its kernel module was loaded: reboot the machine, or reload the "
             "module";
    case Kind::no_forward:
      return "remove cuda-compat from LD_LIBRARY_PATH, and update the driver";
    case Kind::not_ready:
      return "start nvidia-fabricmanager, and wait until nvidia-smi -q shows the fabric state Completed";
    default:
      return "see nvidia-smi and dmesg";
  }
}

/// Returns the error for GPUs that are all too old.
Error too_old(const std::vector<Gpu>& gpus) {
  const auto newer = [](const Gpu& a, const Gpu& b) {
    return std::pair(a.major, a.minor) < std::pair(b.major, b.minor);
  };
  const Gpu& newest = *std::ranges::max_element(gpus, newer);
  return Error(ErrorKind::environment,
               fmt::format("{} ({}) has compute capability {}.{}, but dt needs {}.0 or newer", newest.name,
                           newest.address, newest.major, newest.minor, least_major),
               "start ranks on hosts with newer GPUs");
}

bool may_open(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ::close(descriptor);
  return true;
}

/// Words in the names of GPUs on boards with NVSwitch, or with NVLink between all GPUs.
/// Source: names that nvidia-smi prints; NVIDIA's list of supported products of its driver.
constexpr std::array<std::string_view, 11> kinds = {"H20",  "H100", "H200",  "H800",  "GH200", "B100",
                                                    "B200", "B300", "GB200", "GB300", "HBM3"};
/// Words in the names of parts of GPUs, and of PCIe cards of the same kinds. NVLink bridges connect
/// at most two or four such cards.
constexpr std::array<std::string_view, 4> cards = {"PCIe", "PCIE", "NVL", "MIG"};

template <std::size_t count>
bool has_word(const std::string& name, const std::array<std::string_view, count>& words) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of(" -", begin), name.size());
    if (std::ranges::count(words, std::string_view(name).substr(begin, end - begin)) > 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<Gpu> usable_gpus(const DriverProbe& answer) {
  if (answer.kind == Kind::gpus && !answer.gpus.empty()) {
    std::vector<Gpu> recent;
    std::ranges::copy_if(answer.gpus, std::back_inserter(recent),
                         [](const Gpu& gpu) { return gpu.major >= least_major; });
    if (recent.empty()) throw too_old(answer.gpus);
    return recent;
  }
  if (answer.visible && hides_all(*answer.visible)) throw NoGpu(hidden(answer));
  const std::string why = why_unusable(answer);
  if (answer.device_file.empty()) throw NoGpu(why);
  throw Error(ErrorKind::environment, fmt::format("{}, but {} exists", why, answer.device_file),
              remedy_of(answer));
}

std::string gpu_device_file(const fs::path& folder) {
  const auto is_of_gpu = [](const std::string& name) {
    const std::string prefix = "nvidia";
    const bool is_numbered =
        name.size() > prefix.size() && name.find_first_not_of("0123456789", prefix.size()) == name.npos;
    return name == "dxg" || (name.starts_with(prefix) && is_numbered);
  };
  std::error_code error;
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (is_of_gpu(entry.path().filename())) files.insert(entry.path());
  }
  const auto first = std::ranges::find_if(files, may_open);
  return first == files.end() ? std::string() : first->string();
}

bool has_nvlink(const std::string& gpu) {
  if (has_word(gpu, cards)) return false;
  return gpu.find("SXM") != gpu.npos || has_word(gpu, kinds);
}

}  // namespace dt
