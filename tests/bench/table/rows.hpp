#pragma once
// Printing of the table's rows. A row's bound is a constant that its author set, or chosen by the CPU's
// instructions.

#include <optional>
#include <string>

#include "base/numeric/dtype.hpp"

namespace dt::table {

/// Returns "fp32" or "bf16".
const char* name_of(DType dtype);

void title(const std::string& text);
/// Prints a row; without a bound the row cannot fail.
void at_least(const std::string& what, double measured, std::optional<double> bound, const std::string& note);
void at_most(const std::string& what, double measured, double bound, const std::string& note);
void not_measured(const std::string& what, const std::string& why);

}  // namespace dt::table
