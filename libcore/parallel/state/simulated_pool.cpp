#include "parallel/state/simulated_pool.hpp"

namespace dt::parallel {

std::size_t SimulatedPool::acquire(std::size_t bytes) {
  if (bytes == 0) return 0;
  const auto found = spare_.lower_bound(bytes);
  if (found == spare_.end() || *found > largest_(bytes)) {
    missing_.push_back(bytes);
    return bytes;
  }
  return spare_.extract(found).value();
}

void SimulatedPool::release(std::size_t& bytes) {
  if (bytes > 0) spare_.insert(std::exchange(bytes, 0));
}

}  // namespace dt::parallel
