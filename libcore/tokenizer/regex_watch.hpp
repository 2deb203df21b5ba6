#pragma once
// Ends the process where a regular expression takes too long in one attempt.

#include <string>

namespace dt::tokenizer {

/// Returns the CPU time of the calling thread, in seconds.
double thread_cpu_s();

/// "the regular expression … takes more than … s": what is wrong, and why.
std::string too_slow(const std::string& pattern, double limit_s);

/// Tells a thread of the process's own that this thread is in one call of Oniguruma, as long as the object
/// lives. Nothing interrupts such a call, whose work the library's limits do not bound: back-references and
/// possessive repeats compare and scan without a retry. Where it takes more than `limit_s` of CPU time, the
/// process ends, with the exit code of ErrorKind::input and a message on stderr that names the pattern. What
/// the process was writing is left as after a crash.
class WatchedSearch {
 public:
  /// `pattern` outlives the object.
  WatchedSearch(const std::string& pattern, double limit_s);
  ~WatchedSearch();
  WatchedSearch(const WatchedSearch&) = delete;
};

}  // namespace dt::tokenizer
