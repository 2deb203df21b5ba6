#pragma once
// A dataset in progress: the folder ".<name>.partial" beside the final one. An interruption may
// leave it, and several tasks may fill it.
//
//   begun.json      its inputs and options, and the step of its tasks
//   spool-DIGEST/   files of the spool, made from these inputs with these options only
//   *.h5            shards, complete if they can be opened

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/io/permissions.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Everything that determines the bytes of a dataset. Different identities make different datasets.
struct DatasetIdentity {
  std::string origin;  // a JSON object
  TokenizerIdentity tokenizer;
  std::uint64_t inputs_digest = 0;
};

/// The dataset in progress, held by one process at a time if the file system has locks.
/// Errors: environment if another process makes this dataset; input if it was begun with another
/// identity.
class UnfinishedDataset {
 public:
  /// Continues the dataset that is there if `resumes` is set, and keeps an uncommitted one on
  /// destruction. Otherwise starts over and keeps nothing. `step` is the step of tasks that may help; see
  /// join(). `readers` are the users that may read the inputs; only they may read the dataset.
  UnfinishedDataset(const fs::path& folder, const DatasetIdentity& identity, bool resumes,
                    const std::string& step, const ReadAccess& readers = {});
  const fs::path& path() const { return directory_.path(); }
  const fs::path& spool() const { return spool_; }
  /// Gives the dataset its final name.
  void commit(bool overwrite);

  /// Returns, to another task of the step, the spool of the dataset that task 0 has begun. Waits at
  /// most `wait_s` for it and calls `idle` meanwhile. Returns none after that time.
  /// Errors: usage if task 0 makes another dataset; input if the dataset to resume is another one.
  static std::optional<fs::path> join(const fs::path& folder, const DatasetIdentity& identity, bool resumes,
                                      const std::string& step, double wait_s,
                                      const std::function<void()>& idle);

 private:
  void lock(const fs::path& folder);
  AtomicDirectory directory_;
  fs::path spool_;
  FileLock lock_;
};

}  // namespace dt::data
