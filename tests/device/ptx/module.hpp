#pragma once
// The PTX that nvcc makes of a source. Kernels are parsed when they are requested.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/ptx/program.hpp"

namespace dt::ptx {

/// The place of a name in shared memory: among the declared names, or, without bytes, behind all of these.
struct SharedName {
  std::size_t offset, bytes;
  bool is_dynamic;
};

class Module {
 public:
  /// Takes the text.
  /// Errors: internal, it has functions that kernels call.
  explicit Module(std::string text);

  /// Returns the kernel.
  /// Errors: internal, naming the unknown instruction.
  const Kernel& kernel(const std::string& name);
  std::vector<std::string> kernel_names() const;

 private:
  void read_statement(std::string_view statement);

  std::string text_;
  std::map<std::string, std::string_view, std::less<>> entries_;  // from parameters to the body's end
  std::map<std::string, SharedName, std::less<>> shared_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace dt::ptx
