#include "train/step/gpu_products.hpp"

#include <fmt/ranges.h>
#include <set>
#include <sstream>

#include "comm/exchange.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"

namespace dt::train {

namespace {

/// Returns each line that any rank has, once, sorted.
std::vector<std::string> gather_distinct_lines(comm::Communicator& ranks,
                                               const std::vector<std::string>& own) {
  std::set<std::string> all;
  for (const std::string& text : comm::gather_texts(ranks, fmt::format("{}", fmt::join(own, "\n")))) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.insert(line);
  }
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<std::string> matmul_algorithms_used(comm::Communicator& ranks) {
  return gather_distinct_lines(ranks, kernels::matmul_algorithms());
}

std::vector<std::string> attention_fallbacks_used(comm::Communicator& ranks) {
  return gather_distinct_lines(ranks, kernels::attention_fallbacks());
}

}  // namespace dt::train
