#include "train/start/staging.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "comm/engine.hpp"
#include "comm/exchange.hpp"
#include "data/read/mixture.hpp"

namespace dt::train {

namespace {

constexpr char separator = '\0';

/// Returns nothing if --data is not a valid mixture; opening it reports the error.
std::vector<data::MixtureSource> mixture_sources(const plan::DataRequest& request) {
  try {
    return data::parse_mixture(request.mixture);
  } catch (const Error&) {
    return {};
  }
}

/// The copy of a dataset, or the reason why there is none.
struct StagedCopy {
  fs::path dataset;
  fs::path copy = {};
  std::string warning = {};
};

StagedCopy stage(const fs::path& dataset, const plan::DataRequest& request, const std::function<bool()>& stop,
                 Console& console, std::vector<data::StagedDataset>& held) {
  std::optional<Progress> progress;
  data::StageRequest staging{*request.stage_dir, {}, stop, [&](std::uint64_t done, std::uint64_t total) {
                               if (!progress)
                                 progress.emplace(console.progress("copying data", total, "bytes"));
                               progress->set(done);
                             }};
  if (request.stage_limit) staging.limit_bytes = static_cast<std::uint64_t>(*request.stage_limit);
  try {
    held.push_back(data::stage_dataset(dataset, staging));
    return {dataset, held.back().folder};
  } catch (const Error& error) {
    return {.dataset = dataset, .warning = error.message()};
  }
}

/// Stages all datasets on this host. Returns the text that the host's ranks receive.
std::string stage_all(const plan::DataRequest& request, const std::function<bool()>& stop, Console& console,
                      std::vector<data::StagedDataset>& held) {
  std::string text;
  for (const data::MixtureSource& source : mixture_sources(request)) {
    const StagedCopy place = stage(source.folder, request, stop, console, held);
    for (const std::string& field : {place.dataset.string(), place.copy.string(), place.warning})
      text += field + separator;
  }
  return text;
}

std::vector<StagedCopy> parse_staged_copies(const std::string& text) {
  const std::vector<std::string> fields = split(text, separator);
  std::vector<StagedCopy> places;
  for (std::size_t i = 0; i + 2 < fields.size(); i += 3)
    places.push_back({fields[i], fields[i + 1], fields[i + 2]});
  return places;
}

/// Returns the rank's subset of shards among the ranks of its host, which all see the same files.
data::ShardSubset subset_among_host_ranks(const std::vector<std::string>& hosts, std::size_t rank) {
  const auto own = hosts.begin() + static_cast<std::ptrdiff_t>(rank);
  return {static_cast<std::size_t>(std::count(hosts.begin(), own, *own)),
          static_cast<std::size_t>(std::count(hosts.begin(), hosts.end(), *own))};
}

/// Reports each host's warnings, and rank 0's copies for all.
void report_staging(const std::vector<std::string>& hosts, const std::vector<std::string>& results,
                    Console& console) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    for (const StagedCopy& place : parse_staged_copies(results[rank])) {
      if (!place.warning.empty())
        console.warn("on {}, {} is read in place, not from a local copy: {}", hosts[rank],
                     place.dataset.string(), place.warning);
      else if (rank == 0)
        console.info("reading data from the local copy {}", place.copy.string());
    }
  }
}

/// Returns the copy. The first of a host's ranks that finds it damaged reports that, even if it is
/// not rank 0.
data::DatasetCopy to_dataset_copy(const StagedCopy& place, const comm::Ranks& ranks) {
  if (place.copy.empty()) return {};
  return {place.copy, [place, &ranks](const std::string& why) {
            if (!data::discard_copy(place.copy)) return;
            std::optional<Console> own;
            if (!ranks.is_root()) own.emplace(ranks.console.settings());
            (own ? *own : ranks.console)
                .warn("on {}, {} is read in place from now on, and the next run copies it again: {}",
                      host_name(), place.dataset.string(), why);
          }};
}

}  // namespace

StagedData stage_data(const plan::DataRequest& request, const std::function<bool()>& stop,
                      const comm::Ranks& ranks) {
  const auto rank = static_cast<std::size_t>(ranks.world.rank());
  const auto hosts = comm::gather_texts(ranks.world, request.stage_dir ? host_name() : "");
  if (std::ranges::all_of(hosts, [](const std::string& host) { return host.empty(); }))
    return {.shards_to_read_ahead =
                subset_among_host_ranks(comm::gather_texts(ranks.world, host_name()), rank)};
  StagedData staged;
  const auto first = static_cast<std::size_t>(std::ranges::find(hosts, hosts[rank]) - hosts.begin());
  const bool copies = first == rank && request.stage_dir;
  const comm::ScopedTimeout timeout(ranks.world.engine(), 0);  // copying has no time limit
  const std::vector<std::string> results =
      comm::gather_texts(ranks.world, copies ? stage_all(request, stop, ranks.console, staged.locks) : "");
  if (ranks.is_root()) report_staging(hosts, results, ranks.console);
  for (const StagedCopy& place : parse_staged_copies(results[first]))
    staged.copies.push_back(to_dataset_copy(place, ranks));
  return staged;
}

}  // namespace dt::train
