#pragma once
// Other programs that take part in the table: dt-train, and PyTorch's side.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace dt::table {

/// A program under way, its standard input and output ours; its standard error is passed on.
class Program {
 public:
  explicit Program(std::vector<std::string> words);
  Program(const Program&) = delete;
  /// Waits for its end, whatever that is.
  ~Program();

  void write(const std::string& line);
  /// The next line of its output; none at the end.
  std::optional<std::string> read();

  /// Its end, after its output's. Returns the most bytes that it held in memory (or that this process held
  /// when it started it, as the system counts). Errors: environment, with its command, where it did not end
  /// with 0.
  double finish();

 private:
  int wait();

  std::vector<std::string> words_;
  int pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
  double peak_bytes_ = 0;
};

/// The command that runs a script of this folder with PyTorch, in the environment that it had without us.
struct Torch {
  std::string python, scripts;
  std::vector<std::string> command(const std::string& script) const;
};

}  // namespace dt::table
