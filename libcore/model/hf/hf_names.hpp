#pragma once
// Names and layouts of each family's tensors in Hugging Face transformers.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/model_spec.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// One tensor of a Hugging Face model: dt's parameters stacked along their output features (dim 0), then
/// transposed where the family stores [input, output] (GPT-2's Conv1D).
///
/// With several groups (GPT-NeoX's heads) the rows of each parameter are cut into so many equal parts.
/// The first parts of all parameters come first, then the second parts, and so on. Such a tensor is not
/// transposed.
struct HfTensor {
  std::string name;                  // name that save_pretrained writes
  std::vector<std::string> aliases;  // other names that files use, in the order in which readers try them
  Shape shape;                       // shape in Hugging Face's file
  std::vector<std::string> params;   // names of dt's parameters
  bool transposed = false;
  std::int64_t groups = 1;
};

/// The rows of one parameter within a stacked tensor.
struct StackedRows {
  std::int64_t first = 0;    // rows of the parameters before it
  std::int64_t rows = 0;     // its own
  std::int64_t stacked = 0;  // rows of all parameters
  std::int64_t groups = 1;

  /// Returns the tensor's row that is the parameter's row `row`.
  std::int64_t at(std::int64_t row) const {
    const std::int64_t part = rows / groups;
    return row / part * (stacked / groups) + first / groups + row % part;
  }
  /// Calls body(at, done, count) for each run of the parameter's bytes [begin, begin + size) that is
  /// adjacent in the tensor. `at` is the run's place among the tensor's bytes; `done` bytes come before
  /// it.
  template <class Body>
  void for_runs(std::uint64_t row_bytes, std::uint64_t begin, std::size_t size, const Body& body) const {
    const std::uint64_t part_bytes = static_cast<std::uint64_t>(rows / groups) * row_bytes;
    for (std::size_t done = 0; done < size;) {
      const std::uint64_t from = begin + done;
      const auto count = static_cast<std::size_t>(
          std::min<std::uint64_t>(size - done, groups == 1 ? size - done : part_bytes - from % part_bytes));
      const auto row = static_cast<std::int64_t>(from / row_bytes);
      body(static_cast<std::uint64_t>(at(row)) * row_bytes + from % row_bytes, done, count);
      done += count;
    }
  }
};

/// Returns the output projection's name.
std::string hf_head_name(const ModelSpec& spec);

/// Returns every tensor of the family's model in the order of the parameter table. A tied head is
/// not repeated.
std::vector<HfTensor> hf_tensors(const ModelSpec& spec);

}  // namespace dt::model
