#pragma once
// A dataset under way: the folder ".<name>.partial" beside its own, which an interruption may leave, and
// which several tasks may fill.
//
//   begun.json      what it is made of and how, and by which step's tasks
//   spool-DIGEST/   what ranges of the inputs became, made of that and in that way alone
//   *.h5            shards, whole where they can be opened

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/audience.hpp"
#include "base/files.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// What decides every byte of a dataset. Two that differ make different ones.
struct DatasetIdentity {
  std::string origin;  // a JSON object
  TokenizerInfo tokenizer;
  std::uint64_t inputs_digest = 0;
};

/// Held by one process at a time, where the file system has locks. Errors: environment, where another
/// process makes this dataset; input, where it was begun with something else.
class UnfinishedDataset {
 public:
  /// `resumes`: goes on with what is there, and leaves it there unless it is committed; else begins anew and
  /// leaves nothing. `step`: of the tasks that may come to help; see join(). `readers`: those who may read
  /// the inputs; the dataset lets nobody else read it.
  UnfinishedDataset(const fs::path& folder, const DatasetIdentity& identity, bool resumes,
                    const std::string& step, const Audience& readers = {});
  const fs::path& path() const { return directory_.path(); }
  const fs::path& spool() const { return spool_; }
  /// Gives it its name.
  void commit(bool overwrite);

  /// Returns, for another task of the step, the spool of the dataset that task 0 has begun. Waits `wait_s`
  /// for it and calls `idle` meanwhile. Errors: usage, where task 0 makes another dataset; input, where what
  /// is to be resumed is another one.
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
