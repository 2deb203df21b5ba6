#pragma once
// Which options a resume takes from run.json where the command leaves them out.

#include <string>
#include <vector>

namespace dt::train {

enum class Inheritance {
  training,  // defines what is trained
  cadence,   // says when a run saves, evaluates and reports
  layout,    // is kept where the ranks allow it
  never      // belongs to one start, to its output or to the machine
};

/// What an option's value names, relative to the current folder.
enum class Names { nothing, path, model, mixture, checkpoint };

/// One option of dt-train.
struct OptionKind {
  std::string name;
  Inheritance inheritance;
  Names names = Names::nothing;
  /// Of a layout: the option that must be as it was for this one to be kept; "" for none.
  std::string after{};
};

/// Every option of dt-train, an option behind the one that it comes `after`.
const std::vector<OptionKind>& option_kinds();

/// The option's row; Error{internal} where it is missing.
const OptionKind& kind_of(const std::string& option);

/// Whether giving `given` replaces what a run has of `other`: one of --steps, --tokens and --epochs.
bool replaces(const std::string& given, const std::string& other);

/// An option's value with absolute paths; "" where it names none.
std::string absolute_value(const OptionKind& kind, const std::string& value);

}  // namespace dt::train
