#pragma once
// The record in dataset.json of the inputs and options that made a dataset.

#include <string>

#include "data/build/input_issues.hpp"
#include "data/build/make_dataset.hpp"

namespace dt::data {

/// Returns the options as a JSON object.
std::string describe_origin(const MakeOptions& options);
/// Returns the same with the input issues and the documents left out.
std::string describe_origin(const MakeOptions& options, const InputIssues& issues,
                            const FilteredDocuments& left_out);
/// Returns whether a finished dataset's `made` names these options.
bool was_made_with(const std::string& made, const MakeOptions& options);

}  // namespace dt::data
