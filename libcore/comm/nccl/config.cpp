#include "comm/nccl/config.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>

namespace dt::comm::nccl {

namespace {

constexpr int most_channels = 64;  // MAXCHANNELS of NCCL, which caps larger numbers to it

/// Returns the number in a text; 0: not set, or not a number that NCCL accepts.
int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number > 0 ? number : 0;
}

std::string text_of(int ctas) {
  return ctas == 0 ? "as many CTAs as NCCL likes" : fmt::format("{} CTA{}", ctas, ctas == 1 ? "" : "s");
}

}  // namespace

std::string ignored_fields(int version) {
  std::string names;
  for (const ConfigField& field : config_fields) {
    if (version < field.since) names += (names.empty() ? "" : ", ") + std::string(field.name);
  }
  return names;
}

int max_ctas(DeviceGroupUse use, const std::string& nccl_max_ctas) {
  const int asked = number_in(nccl_max_ctas);
  return asked > 0 ? std::min(asked, most_channels) : max_ctas(use);
}

std::string limits(int version, const std::string& nccl_max_ctas) {
  const std::string ignored = ignored_fields(version);
  if (!ignored.empty()) return fmt::format("this NCCL ignores {} of its configuration", ignored);
  return fmt::format("pipeline channels take {}, overlapped sums and gathers {}{}",
                     text_of(max_ctas(DeviceGroupUse::pipeline, nccl_max_ctas)),
                     text_of(max_ctas(DeviceGroupUse::overlapping, nccl_max_ctas)),
                     number_in(nccl_max_ctas) > 0 ? ", as NCCL_MAX_CTAS says" : "");
}

}  // namespace dt::comm::nccl
