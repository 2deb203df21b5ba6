#pragma once
// Other programs that the table measures: dt-train, and PyTorch's side.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace dt::table {

/// A running program. Pipes connect its standard input and output to this process; its standard error is
/// passed on.
class Program {
 public:
  explicit Program(std::vector<std::string> words);
  Program(const Program&) = delete;
  /// Waits for the program's end, whatever its status.
  ~Program();

  void write(const std::string& line);
  /// Returns the next line of its output; none at the end.
  std::optional<std::string> read();

  /// Waits for the program's end, after the end of its output. Returns the most bytes that it held in
  /// memory, or that this process held when it started the program: the system counts the larger.
  /// Errors: environment, with the program's command, if it did not end with 0.
  double finish();

 private:
  int wait();

  std::vector<std::string> words_;
  int pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
  double peak_bytes_ = 0;
};

/// The command that runs a script of this folder with PyTorch, in the environment that was there before
/// this process changed it.
struct Torch {
  std::string python, scripts;
  std::vector<std::string> command(const std::string& script) const;
};

}  // namespace dt::table
