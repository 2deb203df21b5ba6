#pragma once
// What the library does around each operation on a file below a folder that is watched. It is loaded before a
// program's own libraries (LD_PRELOAD); the environment says what is to happen:
//
//   FAULTS_ROOT    the folder, by its real path; without it nothing is watched
//   FAULTS_STATE   a file that exists: how many operations have matched, over all processes (u64); their lock
//   FAULTS_KINDS   which kinds match, comma separated: create write truncate sync rename link unlink mkdir
//                  close; all of these where it is not set. Only where they are named: open (of what exists),
//                  read, map, list (a folder), look (stat, access), thread (the start of one: of no path)
//   FAULTS_PATH    which paths, relative to the root, match: an extended regular expression; all where not
//   set FAULTS_FIRST, FAULTS_LAST
//                  of the matching operations, counted from 1, those that the action befalls; all where not
//                  set
//   FAULTS_ACTION  die-before, die-after  the process is killed there
//                  die-amid               a write leaves its first half; others as die-before
//                  fail=ERRNO             a number; the operation is not done (close: done, but fails)
//                  short                  a write takes its first half
//                  pretend                answers success, does nothing
//   FAULTS_MAX_THREADS
//                  the start of a thread matches only where the process has as many already, as under a limit
//   FAULTS_OLD_RENAMES
//                  where it is set, renaming knows no flags, as on some network file systems
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
  std::string to = {};       // of rename and link
  std::uint64_t offset = 0;  // of a write, of a new size; of a rename its flags
  const void* data = nullptr;
  std::size_t bytes = 0;
};

/// Whether operations of this kind, which change nothing, are watched at all.
bool watches(const char* kind);

/// Below the root, relative to it; else "". "." is the root itself.
std::string watched(int folder, const char* path);
std::string watched(int descriptor);

/// Does the operation, or what was ordered instead. `perform` is told how many bytes to write and answers as
/// a system call of C does: −1 and errno, or the result.
long intercept(const Operation& operation, const std::function<long(std::size_t)>& perform);

}  // namespace faults
