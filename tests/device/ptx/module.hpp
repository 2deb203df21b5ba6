#pragma once
// The text that nvcc makes of a source: its kernels are read when they are asked for.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/ptx/program.hpp"

namespace dt::ptx {

/// Where a name of shared memory lies: among what is declared, or, without bytes, behind all of that.
struct SharedName {
  std::size_t offset, bytes;
  bool is_dynamic;
};

class Module {
 public:
  /// Errors: internal, where it has functions that kernels call.
  explicit Module(std::string text);

  /// Errors: internal, naming the instruction that is not known.
  const Kernel& kernel(const std::string& name);
  std::vector<std::string> kernel_names() const;

 private:
  void read_statement(std::string_view statement);

  std::string text_;
  std::map<std::string, std::string_view, std::less<>> entries_;  // from the parameters to the body's end
  std::map<std::string, SharedName, std::less<>> shared_;
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace dt::ptx
