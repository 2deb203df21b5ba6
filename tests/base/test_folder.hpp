#pragma once
// Shared by the tests of base: a folder for each test, captured output, errors as text.

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <unistd.h>

#include "base/error.hpp"

namespace dt_test {

/// Returns whether tests may give files to other users.
inline bool is_root() {
  return ::geteuid() == 0;
}

/// A folder that is removed at the end of the test.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = (parent / "dt-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t num_entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void put(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// While it lives, what is written to `descriptor` goes to a file.
class Captured {
 public:
  explicit Captured(int descriptor, const std::string& target = {})
      : descriptor_(descriptor),
        saved_(dup(descriptor)),
        file_(target.empty() ? (folder_ / "captured").string() : target) {
    const int to = open(file_.c_str(), O_RDWR | O_CREAT, 0600);
    dup2(to, descriptor);
    close(to);
  }
  ~Captured() {
    dup2(saved_, descriptor_);
    close(saved_);
  }
  Captured(const Captured&) = delete;
  std::string text() const { return content(file_); }

 private:
  Folder folder_;
  int descriptor_;
  int saved_;
  std::filesystem::path file_;
};

struct Caught {
  bool thrown = false;
  dt::ErrorKind kind = dt::ErrorKind::internal;
  std::string message;
  bool says(const std::string& part) const { return message.find(part) != std::string::npos; }
};

/// Returns the dt::Error that `action` throws.
inline Caught caught(const std::function<void()>& action) {
  try {
    action();
  } catch (const dt::Error& error) {
    return {true, error.kind(), error.message()};
  }
  return {};
}

}  // namespace dt_test
