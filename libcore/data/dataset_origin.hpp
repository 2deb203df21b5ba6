#pragma once
// The record in dataset.json of the inputs and options that made a dataset.

#include <string>

#include "data/flaws.hpp"
#include "data/make_dataset.hpp"

namespace dt::data {

/// Returns the options as a JSON object.
std::string origin_of(const MakeOptions& options);
/// Returns the same with the input flaws and the documents left out.
std::string origin_of(const MakeOptions& options, const Flaws& flaws, const LeftOut& left_out);
/// Returns whether a finished dataset's `made` names these options.
bool was_made_with(const std::string& made, const MakeOptions& options);

}  // namespace dt::data
