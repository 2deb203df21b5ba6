#include "injector.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <regex.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace faults {

namespace {

constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string text = variable(name);
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

[[noreturn]] void end(const std::string& why) {
  const std::string text = "faults: " + why + "\n";
  ::syscall(SYS_write, 2, text.data(), text.size());
  ::abort();
}

struct Orders {
  std::string root = variable("FAULTS_ROOT");
  std::string state = variable("FAULTS_STATE");
  std::string log = variable("FAULTS_LOG");
  std::string kinds = variable("FAULTS_KINDS");
  std::string action = variable("FAULTS_ACTION");
  std::uint64_t first = number("FAULTS_FIRST", 1);
  std::uint64_t last = number("FAULTS_LAST", no_end);
  regex_t path;

  Orders() {
    if (::regcomp(&path, variable("FAULTS_PATH").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
      end("FAULTS_PATH is no regular expression");
  }
  bool names(const char* kind) const {
    return ("," + kinds + ",").find(std::string(",") + kind + ",") != std::string::npos;
  }
  bool match(const Operation& operation) const {
    return (kinds.empty() || names(operation.kind)) &&
           (::regexec(&path, operation.path.c_str(), 0, nullptr, 0) == 0 ||
            (!operation.to.empty() && ::regexec(&path, operation.to.c_str(), 0, nullptr, 0) == 0));
  }
};

const Orders& orders() {
  static const Orders* all = new Orders();  // outlives code that runs at exit
  return *all;
}

/// Lets one operation of all processes go at a time, so that the log has an order. The lock ends with its
/// holder.
class Turn {
 public:
  Turn() {
    descriptor_ =
        static_cast<int>(::syscall(SYS_openat, AT_FDCWD, orders().state.c_str(), O_RDWR | O_CLOEXEC));
    if (descriptor_ < 0) end("cannot open FAULTS_STATE '" + orders().state + "'");
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Turn() { ::syscall(SYS_close, descriptor_); }
  Turn(const Turn&) = delete;

  /// Returns the number of this matching operation, from 1.
  std::uint64_t count() const {
    std::uint64_t matched = 0;
    ::syscall(SYS_pread64, descriptor_, &matched, sizeof matched, 0);
    ++matched;
    ::syscall(SYS_pwrite64, descriptor_, &matched, sizeof matched, 0);
    return matched;
  }

 private:
  int descriptor_;
};

void record(const Operation& operation, std::size_t count) {
  const int log = static_cast<int>(
      ::syscall(SYS_openat, AT_FDCWD, orders().log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (log < 0) end("cannot open FAULTS_LOG '" + orders().log + "'");
  std::string entry = std::string(operation.kind) + '\t' + std::to_string(::getpid()) + '\t' +
                      operation.path + '\t' + operation.to + '\t' + std::to_string(operation.offset) + '\t' +
                      std::to_string(count) + '\n';
  if (count > 0) entry.append(static_cast<const char*>(operation.data), count);
  for (std::size_t done = 0; done < entry.size();) {
    const long written = ::syscall(SYS_write, log, entry.data() + done, entry.size() - done);
    if (written <= 0) end("cannot write FAULTS_LOG");
    done += static_cast<std::size_t>(written);
  }
  ::syscall(SYS_close, log);
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// Returns the action for this operation, "" for none.
std::string action_for(const Turn& turn, const Operation& operation) {
  if (!orders().match(operation)) return "";
  const std::uint64_t n = turn.count();
  return n >= orders().first && n <= orders().last ? orders().action : "";
}

std::string relative(const std::string& path) {
  const std::string& root = orders().root;
  if (path == root) return ".";
  if (root == "/") return path.substr(1);
  return path.starts_with(root + "/") ? path.substr(root.size() + 1) : "";
}

std::string path_of(int descriptor) {
  char target[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), target, sizeof target);
  return length <= 0 ? "" : std::string(target, static_cast<std::size_t>(length));
}

}  // namespace

bool watches(const char* kind) {
  return !orders().root.empty() && orders().names(kind);
}

std::string watched(int folder, const char* path) {
  if (orders().root.empty() || path == nullptr) return "";
  std::filesystem::path whole(path);
  if (whole.is_relative()) {
    char current[4096] = "";
    if (folder == AT_FDCWD) ::syscall(SYS_getcwd, current, sizeof current);
    whole = (folder == AT_FDCWD ? std::string(current) : path_of(folder)) / whole;
  }
  std::string normal = whole.lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return relative(normal);
}

std::string watched(int descriptor) {
  return orders().root.empty() ? "" : relative(path_of(descriptor));
}

long intercept(const Operation& operation, const std::function<long(std::size_t)>& perform) {
  const Turn turn;
  const std::string action = action_for(turn, operation);
  const bool writes = std::strcmp(operation.kind, "write") == 0;
  std::size_t bytes = operation.bytes;
  if (action == "die-amid" && writes) perform(bytes / 2);
  if (action == "die-before" || action == "die-amid") die();
  if (action == "pretend") return static_cast<long>(bytes);
  if (action.starts_with("fail=")) {
    if (std::strcmp(operation.kind, "close") == 0) perform(0);
    errno = std::atoi(action.c_str() + 5);
    return -1;
  }
  if (action == "short") bytes = (bytes + 1) / 2;
  const long result = perform(bytes);
  const int error_number = errno;
  if (result >= 0 && !orders().log.empty()) record(operation, writes ? static_cast<std::size_t>(result) : 0);
  if (action == "die-after") die();
  errno = error_number;
  return result;
}

}  // namespace faults
