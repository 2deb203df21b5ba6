#pragma once
// Interposes on each operation on a file below a watched folder. The library is loaded before a program's
// own libraries (LD_PRELOAD). The environment says what is to happen:
//
//   FAULTS_ROOT    the folder, by its real path; without it nothing is watched
//   FAULTS_STATE   an existing file: the number of operations that have matched, over all processes
//                  (u64); their lock
//   FAULTS_KINDS   kinds that match, comma separated: create write truncate sync rename link unlink mkdir
//                  close; the default is all of these. Only if they are named: open (of an existing file),
//                  read, map, list (a folder), look (stat, access), thread (the start of one: without a path)
//   FAULTS_PATH    an extended regular expression that paths, relative to the root, must match; default: all
//   FAULTS_FIRST, FAULTS_LAST
//                  the first and the last matching operation, counted from 1, on which the action falls;
//                  default: all
//   FAULTS_ACTION  die-before, die-after  the process is killed there
//                  die-amid               a write leaves its first half; others as die-before
//                  fail=ERRNO             a number; the operation is not done (close: done, but fails)
//                  short                  a write takes its first half
//                  pretend                answers success, does nothing
//   FAULTS_MAX_THREADS
//                  a thread's start matches only if the process has this many already, as under a limit
//   FAULTS_OLD_RENAMES
//                  if set, renaming knows no flags, as on some network file systems
//   FAULTS_LOG     a file to which every operation that was done is appended, with its data:
//                  "kind\tpid\tpath\tto\toffset\tcount\n", then `count` bytes
//
// All internal calls are system calls, as the C library's names lead back here.

#include <cstdint>
#include <functional>
#include <string>

namespace faults {

struct Operation {
  const char* kind;
  std::string path;          // relative to the root
  std::string to = {};       // target of rename and link
  std::uint64_t offset = 0;  // offset of a write, new size, or flags of a rename
  const void* data = nullptr;
  std::size_t bytes = 0;
};

/// Returns whether operations of this kind are watched. Kinds that change nothing are watched only if they
/// are named.
bool watches(const char* kind);

/// Returns the path relative to the root if it lies below the root; else "". "." is the root itself.
std::string watched(int folder, const char* path);
std::string watched(int descriptor);

/// Performs the operation, or the ordered action instead. `perform` is told how many bytes to write. It
/// answers as a system call of C does: −1 and errno, or the result.
long intercept(const Operation& operation, const std::function<long(std::size_t)>& perform);

}  // namespace faults
