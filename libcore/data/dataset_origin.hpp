#pragma once
// What a dataset was made of and how, as its dataset.json says.

#include <string>

#include "data/flaws.hpp"
#include "data/make_dataset.hpp"

namespace dt::data {

/// A JSON object: the options.
std::string origin_of(const MakeOptions& options);
/// The same, and what was passed over and left out.
std::string origin_of(const MakeOptions& options, const Flaws& flaws, const LeftOut& left_out);
/// Returns whether a finished dataset's `made` names these options.
bool was_made_with(const std::string& made, const MakeOptions& options);

}  // namespace dt::data
