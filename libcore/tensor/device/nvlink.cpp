#include "tensor/device/nvlink.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dt {

namespace {

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

bool has_nvlink(const std::string& gpu) {
  if (has_word(gpu, cards)) return false;
  return gpu.find("SXM") != gpu.npos || has_word(gpu, kinds);
}

}  // namespace dt
