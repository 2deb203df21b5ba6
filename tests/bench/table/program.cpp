#include "bench/table/program.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.hpp"
#include "bench/table/machine.hpp"

namespace dt::table {

Program::Program(std::vector<std::string> words) : words_(std::move(words)) {
  std::array<int, 2> to{}, from{};
  // Closing on exec keeps a later program from holding the pipes of this one open.
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    throw environment_error("no pipe for {}", words_.front());
  pid_ = ::fork();
  if (pid_ < 0) throw environment_error("no process for {}", words_.front());
  if (pid_ == 0) {
    ::dup2(to[0], STDIN_FILENO);
    ::dup2(from[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words_) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(to[0]), ::close(from[1]);
  in_ = ::fdopen(to[1], "w"), out_ = ::fdopen(from[0], "r");
}

Program::~Program() {
  wait();
}

void Program::write(const std::string& line) {
  std::fputs((line + "\n").c_str(), in_);
  std::fflush(in_);
}

std::optional<std::string> Program::read() {
  char* text = nullptr;
  std::size_t size = 0;
  const ssize_t length = ::getline(&text, &size, out_);
  std::string line = length < 0 ? std::string() : std::string(text, static_cast<std::size_t>(length));
  std::free(text);
  if (length < 0) return std::nullopt;
  return line;
}

double Program::finish() {
  if (wait() != 0) throw environment_error("failed: {}", fmt::join(words_, " "));
  return peak_bytes_;
}

int Program::wait() {
  if (pid_ < 0) return 0;
  std::fclose(in_), std::fclose(out_);
  int status = 0;
  rusage usage{};
  ::wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  peak_bytes_ = static_cast<double>(usage.ru_maxrss) * 1024;
  return status;
}

std::vector<std::string> Torch::command(const std::string& script) const {
  return {"env",
          "-u",
          "GOMP_SPINCOUNT",
          python,
          scripts + "/" + script,
          "--threads",
          std::to_string(num_threads())};
}

}  // namespace dt::table
