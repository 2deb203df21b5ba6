#pragma once
// The golden files of models (tests/golden/README.md).

#include <filesystem>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"

namespace dt::test {

/// The models of tests/golden/make_families.py, in fp64 alone.
const std::vector<std::string>& golden_families();
/// Returns the model's file in this dtype; the one in fp64 if there is no other. If the tests have been
/// moved, $DT_TESTS names their folder.
std::filesystem::path golden_file(const std::string& name, DType dtype);

}  // namespace dt::test
