#include "base/error.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "base/system/limits.hpp"

namespace dt {

namespace {

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  for (const char* prefix : prefixes) {
    if (text.rfind(prefix, 0) == 0) return true;
  }
  return false;
}

bool is_reading(const std::string& action) {
  return action == "open" || starts_with_any(action, {"read", "list", "inspect", "map"});
}

bool is_about_the_path(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
      return true;
    default:
      return false;
  }
}

const char* remedy(int error_number, bool reading) {
  switch (error_number) {
    case ENOSPC:
      return "the file system is full: free space there or choose another place";
    case EDQUOT:
      return "the disk quota is used up: delete files there or choose another place";
    case EROFS:
      return "the file system is read-only: choose another place";
    case EACCES:
    case EPERM:
      return reading ? "check the permissions of the file and of the folders above it"
                     : "writing there is not permitted: check the permissions or choose another place";
    case ENOENT:
      return reading ? "check the path" : "the folder above it does not exist: create it or correct the path";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case EISDIR:
      return "it is a folder; a file is expected";
    case EFBIG:
      return "the file would exceed the file-size limit (ulimit -f) or the largest file that the file system "
             "allows: raise the limit";
    case ENAMETOOLONG:
      return "choose a shorter name";
    case EMFILE:
      return "too many files are open in this process: raise the limit (ulimit -n)";
    case ENFILE:
      return "too many files are open on this node: raise the limit (sysctl fs.file-max)";
    case EIO:
      return "the device or the file server failed: check the node's system log";
    case ESTALE:
      return "the file server no longer has the file (stale handle): check the mount, then start again";
    case ENOMEM:
      return "the node is out of memory, or a memory limit is reached (ulimit -v)";
    default:
      return "";
  }
}

/// Replaces NUL characters, at which what() would end. A name in a file may contain them.
std::string without_nul(std::string text) {
  for (std::size_t at = 0; (at = text.find('\0', at)) != text.npos;) text.replace(at, 1, "\\u0000");
  return text;
}

bool is_errno(const std::error_code& code) {
  return code.category() == std::generic_category() || code.category() == std::system_category();
}

/// Returns the error of a standard-library call. Most such errors come from starting threads, for
/// which the library reports only the error number.
Error error_of(const std::system_error& error) {
  const int number = error.code().value();
  if (number == EAGAIN) return thread_error(number);
  return Error(ErrorKind::environment, error.what(), remedy(number, false), number);
}

Error internal_error(const std::exception& error) {
  return Error(ErrorKind::internal, fmt::format("internal error: {}", error.what()),
               "this is a bug in dt: please report it");
}

}  // namespace

Error::Error(ErrorKind kind, std::string what, std::string context, int error_number)
    : std::runtime_error(without_nul(std::move(what))),
      kind_(kind),
      context_(std::move(context)),
      error_number_(error_number) {}

std::string Error::message() const {
  return context_.empty() ? std::string(what()) : fmt::format("{}; {}", what(), context_);
}

Error system_error(int error_number, const std::string& action, const std::string& object) {
  const bool reading = is_reading(action);
  const auto kind = reading && is_about_the_path(error_number) ? ErrorKind::input : ErrorKind::environment;
  return Error(kind,
               fmt::format("cannot {} {}: {}", action, object, std::generic_category().message(error_number)),
               remedy(error_number, reading || action == "stat"), error_number);
}

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::environment, "out of memory",
                 "reduce batch or buffer sizes, or request more memory", ENOMEM);
  } catch (const std::system_error& error) {
    return is_errno(error.code()) ? error_of(error) : internal_error(error);
  } catch (const std::exception& error) {
    return internal_error(error);
  }
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  const char* slash = std::strrchr(file, '/');
  throw Error(ErrorKind::internal, message,
              fmt::format("check '{}' failed at {}:{}; this is a bug in dt: please report it", condition,
                          slash ? slash + 1 : file, line));
}

}  // namespace dt
