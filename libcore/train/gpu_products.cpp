#include "train/gpu_products.hpp"

#include <fmt/ranges.h>
#include <set>
#include <sstream>

#include "comm/exchange.hpp"
#include "kernels/linear.hpp"

namespace dt::train {

std::vector<std::string> gpu_products(comm::Communicator& ranks) {
  std::set<std::string> all;
  for (const std::string& text :
       comm::gather_texts(ranks, fmt::format("{}", fmt::join(kernels::product_algorithms(), "\n")))) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.insert(line);
  }
  return {all.begin(), all.end()};
}

}  // namespace dt::train
