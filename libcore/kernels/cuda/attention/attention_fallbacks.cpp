#include "kernels/cuda/attention/attention_fallbacks.hpp"

#include <mutex>
#include <set>

#include "kernels/cuda/launch/kernels.hpp"

namespace dt::kernels::cuda {

namespace {

struct Declines {
  std::mutex mutex;
  std::set<std::string> lines;
};

Declines& declines() {
  static Declines all;
  return all;
}

}  // namespace

void record_attention_fallback(const std::string& line) {
  const std::lock_guard lock(declines().mutex);
  declines().lines.insert(line);
}

std::vector<std::string> attention_fallbacks() {
  const std::lock_guard lock(declines().mutex);
  return {declines().lines.begin(), declines().lines.end()};
}

}  // namespace dt::kernels::cuda
