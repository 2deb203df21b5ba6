#include "run/local/promotion.hpp"

#include <numeric>

#include "base/error.hpp"
#include "base/text/text.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "checkpoint/writer.hpp"
#include "comm/exchange.hpp"
#include "run/gather_written.hpp"

namespace dt::run {

namespace {

/// Returns the rank that copies a writer's files in the `attempt`-th attempt. All ranks compute the
/// same. Attempts alternate between holders, and writers between the ranks of a node.
int holder_of(const LocalCheckpoint& local, const Nodes& nodes, std::size_t writer, std::size_t attempt) {
  const std::vector<int>& holders = local.holders[writer];
  const int node = holders[(writer + attempt) % holders.size()];
  const std::vector<int>& ranks = nodes.ranks[static_cast<std::size_t>(node)];
  return ranks[writer % ranks.size()];
}

}  // namespace

Promotion::Promotion(const comm::Ranks& ranks, const std::optional<std::string>& folder,
                     const RunDirectory& run, const std::string& host, std::size_t max_files_with_list)
    : ranks_(ranks),
      run_(run),
      nodes_(find_nodes(ranks.world, host)),
      max_files_with_list_(max_files_with_list) {
  if (!folder) return;
  std::string key;
  comm::on_root(ranks, [&] {
    std::string why;
    const std::optional<Secret> loaded = load_shard_key(run, why);
    if (loaded)
      key = loaded->to_hex();
    else if (path_exists(shard_key_path(run)))
      ranks.console.warn("{}: local checkpoints cannot be checked and are not used", why);
  });
  key = comm::broadcast_text(ranks.world, key);
  store_.emplace(*folder, run, host, key.empty() ? std::nullopt : std::optional(Secret::from_hex(key)));
}

std::vector<LocalCheckpoint> Promotion::find(bool was_surveyed) const {
  if (!store_) return {};
  NodeShards own;
  comm::run_collectively(ranks_.world, [&] { own = list_own_shards(); });
  if (was_surveyed) own.problems.clear();
  return merge(own);
}

std::vector<LocalCheckpoint> Promotion::survey() const {
  if (!store_) return {};
  NodeShards own;
  try {
    own = list_own_shards();
  } catch (const Error& error) {
    own.problems = error.message() + "\n";
  }
  return merge(own);
}

Promotion::NodeShards Promotion::list_own_shards() const {
  if (nodes_.leader(nodes_.own) != ranks_.world.rank()) return {};
  store_->check_usable();
  std::vector<checkpoint::Problem> problems;
  NodeShards held{describe_shards(store_->shards(problems)), {}};
  for (const checkpoint::Problem& p : problems) held.problems += fmt::format("{}: {}\n", p.where, p.what);
  return held;
}

std::vector<LocalCheckpoint> Promotion::merge(const NodeShards& own) const {
  const std::vector<std::string> of_ranks = comm::gather_texts(ranks_.world, own.shards);
  const std::vector<std::string> problems = comm::gather_texts(ranks_.world, own.problems);
  std::vector<std::string> of_nodes;
  for (int node = 0; node < nodes_.size(); ++node) {
    const auto leader = static_cast<std::size_t>(nodes_.leader(node));
    of_nodes.push_back(of_ranks[leader]);
    for (const std::string& line : split(problems[leader], '\n')) {
      if (!line.empty())
        ranks_.console.warn("{}: unusable: {}", nodes_.hosts[static_cast<std::size_t>(node)], line);
    }
  }
  return merge_shards(of_nodes);
}

void Promotion::promote(const LocalCheckpoint& local) const {
  if (const std::string why = local.why_incomplete(); !why.empty()) {
    // A user who forgets the option must not lose the steps that the nodes hold.
    const std::string text = fmt::format("step {} was saved as a local checkpoint only: {}", local.step, why);
    if (store_)
      throw comm::SharedError(ErrorKind::input, text, "a job on the nodes that hold it can resume from it");
    throw comm::SharedError(ErrorKind::environment, text,
                            "set --checkpoint-local to the folder on the nodes; to resume from an older "
                            "checkpoint, name it with --resume");
  }
  const checkpoint::Manifest header =
      checkpoint::parse_manifest(local.header_text, "a local checkpoint's header");
  std::optional<checkpoint::CheckpointTransaction> unfinished;
  const auto as_environment = [](const Error& error) {
    if (error.kind() == ErrorKind::environment) return error;
    return Error(ErrorKind::environment, error.message(), "another start may be doing the same: start again");
  };
  comm::on_root(ranks_, [&] {
    try {
      unfinished.emplace(run_.checkpoints_path(), local.step, local.generation);
    } catch (const Error& error) {
      throw as_environment(error);
    }
  });
  const fs::path folder =
      comm::broadcast_text(ranks_.world, unfinished ? unfinished->path().string() : std::string());
  checkpoint::WrittenPieces copied;
  {
    // Ranks without files wait as long as other ranks copy.
    const comm::ScopedTimeout timeout(ranks_.world.engine(), 0);
    copied = collect_writer_files(local, header, folder);
  }
  if (!keeps_writer_manifests(local)) gather_written(ranks_.world, copied);
  comm::on_root(ranks_, [&] {
    try {
      const checkpoint::CommitOptions options{
          .max_files_with_list = max_files_with_list_,
          .other_files = checkpoint::add_tokenizer_files(run_.tokenizer_path(), unfinished->path())};
      copied.sort_files();
      const fs::path path = keeps_writer_manifests(local)
                                ? unfinished->commit(header, static_cast<int>(local.holders.size()), options)
                                : unfinished->commit(header, copied, options);
      ranks_.console.info("assembled {} from the local checkpoints of the nodes", path.string());
    } catch (const Error& error) {
      throw as_environment(error);
    }
  });
}

void Promotion::promote_newest(std::span<const LocalCheckpoint> newest_first) const {
  for (const LocalCheckpoint& local : newest_first) {
    try {
      return promote(local);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      ranks_.console.warn("{}", error.what());
    }
  }
}

void Promotion::clear(std::int64_t newest_generation) const {
  remove([&](const LocalStore& store) { store.clear(newest_generation); });
}

void Promotion::clear_older(const checkpoint::CheckpointEntry& newest) const {
  remove([&](const LocalStore& store) { store.clear(newest.generation, newest); });
}

void Promotion::remove(const std::function<void(const LocalStore&)>& shards) const {
  if (!store_) return;
  std::string wrong;
  if (nodes_.leader(nodes_.own) == ranks_.world.rank()) {
    try {
      shards(*store_);
    } catch (const Error& error) {
      wrong = fmt::format("{}: {}", nodes_.hosts[static_cast<std::size_t>(nodes_.own)], error.message());
    }
  }
  for (const std::string& of_rank : comm::gather_texts(ranks_.world, wrong)) {
    if (!of_rank.empty()) ranks_.console.warn("{}", of_rank);
  }
}

checkpoint::WrittenPieces Promotion::collect_writer_files(const LocalCheckpoint& local,
                                                          const checkpoint::Manifest& header,
                                                          const fs::path& unfinished) const {
  checkpoint::WrittenPieces copied;
  std::vector<std::size_t> missing(local.holders.size());
  std::iota(missing.begin(), missing.end(), std::size_t{0});
  for (std::size_t attempt = 0; !missing.empty(); ++attempt) {
    std::string failures;
    comm::run_collectively(ranks_.world, [&] {
      for (const std::size_t writer : missing) {
        if (holder_of(local, nodes_, writer, attempt) != ranks_.world.rank()) continue;
        const std::string why = copy_writer_files(header, static_cast<int>(writer), unfinished,
                                                  keeps_writer_manifests(local), copied);
        if (!why.empty()) failures += fmt::format("{}\t{}\n", writer, why);
      }
    });
    missing.clear();
    for (const std::string& of_rank : comm::gather_texts(ranks_.world, failures)) {
      for (const std::string& line : split(of_rank, '\n')) {
        if (line.empty()) continue;
        const auto writer = std::stoul(line);
        missing.push_back(writer);
        const std::string why = fmt::format("files of rank {}: {}", writer, line.substr(line.find('\t') + 1));
        if (attempt + 1 == local.holders[writer].size()) throw comm::SharedError(ErrorKind::input, why);
        ranks_.console.warn("{}; using the copy on another node", why);
      }
    }
  }
  return copied;
}

std::string Promotion::copy_writer_files(const checkpoint::Manifest& header, int writer,
                                         const fs::path& unfinished, bool keeps_manifest,
                                         checkpoint::WrittenPieces& copied) const {
  std::string why = "the shard was removed";
  for (const fs::path& shard : store_->shard_paths(header.state.step, header.generation)) {
    try {
      const checkpoint::WriterManifest manifest =
          store_->copy_writer_files(shard, header, writer, unfinished, keeps_manifest);
      if (!keeps_manifest) copied.add(manifest);
      return {};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      why = error.message();
    }
  }
  return why;
}

}  // namespace dt::run
