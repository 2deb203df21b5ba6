#pragma once
// What the table prints. A row's bound is a constant of its author's, or chosen by the CPU's instructions.

#include <optional>
#include <string>

#include "base/dtype.hpp"

namespace dt::table {

/// "fp32" or "bf16".
const char* name_of(DType dtype);

void title(const std::string& text);
/// Without a bound nothing is asked of it here.
void at_least(const std::string& what, double measured, std::optional<double> bound, const std::string& note);
void at_most(const std::string& what, double measured, double bound, const std::string& note);
void not_measured(const std::string& what, const std::string& why);

}  // namespace dt::table
