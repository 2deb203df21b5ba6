#pragma once
// The options that a resume takes from run.json if the command leaves them out.

#include <string>
#include <vector>

namespace dt::train {

enum class Inheritance {
  training,  // defines the training
  cadence,   // defines when a run saves, evaluates and reports
  layout,    // kept if the ranks allow it
  never      // belongs to one start, to its output or to the machine
};

/// The kind of path in an option's value, relative to the current folder.
enum class NameMatching { nothing, path, model, mixture, checkpoint };

/// One option of dt-train.
struct InheritanceRule {
  std::string name;
  Inheritance inheritance;
  NameMatching path_kind = NameMatching::nothing;
  /// The option that must be unchanged for this layout option to be kept; "" if there is none.
  std::string depends_on{};
};

/// Returns every option of dt-train. An option follows the option that it comes `after`.
const std::vector<InheritanceRule>& inheritance_rules();

/// Returns the option's row.
/// Errors: internal if it is missing.
const InheritanceRule& inheritance_rule(const std::string& option);

/// Returns whether `given` replaces a run's value of `other`: both are among --steps, --tokens and
/// --epochs.
bool replaces(const std::string& given, const std::string& other);

/// Returns an option's value with absolute paths; "" if it names no path.
std::string absolute_value(const InheritanceRule& kind, const std::string& value);

}  // namespace dt::train
