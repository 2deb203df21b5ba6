#include "data/read/verify_dataset.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/token_shard.hpp"

namespace dt::data {

namespace {

using Problems = std::vector<DatasetProblem>;

class Verification {
 public:
  Verification(const fs::path& folder, const DatasetFile& dataset,
               const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : folder_(folder), dataset_(dataset), progress_(progress) {
    for (const ShardEntry& entry : dataset.shards) total_bytes_ += entry.bytes;
  }

  Problems run() {
    check_tokenizer();
    check_other_files();
    for (std::size_t i = 0; i < dataset_.shards.size(); ++i) check_shard(i);
    for (const Split split : all_splits) {
      const std::size_t i = static_cast<std::size_t>(split);
      if (is_complete_ && tallies_[i].digest() != dataset_.splits[i].digest) {
        add(dataset_file_name,
            fmt::format("the digest of the {} split does not match its tokens", name_of(split)));
      }
      if (is_complete_ && tallies_[i].targets() != dataset_.splits[i].targets) {
        add(dataset_file_name, fmt::format("the {} split has {} targets, expected {}", name_of(split),
                                           *tallies_[i].targets(), *dataset_.splits[i].targets));
      }
    }
    return std::move(problems_);
  }

 private:
  void add(const std::string& file, const std::string& what) {
    problems_.push_back({fmt::format("{}: {}", (folder_ / file).string(), what)});
    is_complete_ = false;
  }

  void add(const Error& error) {
    problems_.push_back({error.message(), !error.indicates_corruption()});
    is_complete_ = false;
  }

  void check_tokenizer() {
    const fs::path path = folder_ / tokenizer_file_name;
    try {
      if (!path_exists(path)) {
        add(tokenizer_file_name, "is missing");
      } else if (digest(read_file(path)) != dataset_.tokenizer.digest) {
        add(tokenizer_file_name, fmt::format("its digest does not match {}", dataset_file_name));
      }
    } catch (const Error& error) {
      add(error);
    }
  }

  void check_other_files() {
    std::set<std::string> names;
    for (const fs::path& path : entries_of(folder_)) {
      if (path.extension() == ".h5") names.insert(path.filename().string());
    }
    for (const ShardEntry& entry : dataset_.shards) names.erase(entry.file);
    for (const std::string& name : names) add(name, fmt::format("{} does not list it", dataset_file_name));
  }

  void check_shard(std::size_t index) {
    const ShardEntry& entry = dataset_.shards[index];
    try {
      const TokenShard shard(folder_ / entry.file);
      shard.check_against(entry, dataset_.tokenizer);
      const bool are_offsets_sound = check_offsets(entry.file, shard);
      check_tokens(entry.file, shard);
      if (are_offsets_sound && dataset_.begins_split(index)) shard.check_begins_split();
    } catch (const Error& error) {
      add(error);
    }
  }

  bool check_offsets(const std::string& file, const TokenShard& shard) {
    const std::string problem = shard.document_offsets_problem();
    if (!problem.empty()) add(file, problem);
    return problem.empty();
  }

  void check_tokens(const std::string& file, const TokenShard& shard) {
    for (std::size_t i = 0; i < shard.num_blocks(); ++i) {
      if (const std::string problem = shard.block_problem(i); !problem.empty()) add(file, problem);
      tallies_[static_cast<std::size_t>(shard.header().split)].update(shard.block(i));
      done_bytes_ += shard.block(i).size();
      progress_(done_bytes_, total_bytes_);
    }
  }

  const fs::path& folder_;
  const DatasetFile& dataset_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  Problems problems_;
  bool is_complete_ = true;  // all tokens were read, so that the splits' digests are meaningful
  std::array<TokenTally, all_splits.size()> tallies_ = {TokenTally(dataset_.splits[0].targets.has_value()),
                                                        TokenTally(dataset_.splits[1].targets.has_value())};
};

}  // namespace

std::vector<DatasetProblem> verify_dataset(
    const fs::path& folder, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::optional<DatasetFile> dataset;
  try {
    dataset = read_dataset_file(folder);
  } catch (const Error& error) {
    if (!error.indicates_corruption() || !path_exists(folder / dataset_file_name)) throw;
    return {{error.message()}};
  }
  return Verification(folder, *dataset, progress).run();
}

}  // namespace dt::data
