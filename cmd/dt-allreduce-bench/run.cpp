#include <algorithm>
#include <array>

#include "base/cli/build_info.hpp"
#include "base/error.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/files.hpp"
#include "base/system/host.hpp"
#include "base/system/limits.hpp"
#include "base/text/text.hpp"
#include "bench/report.hpp"
#include "bench/time_limit.hpp"
#include "cmd/dt-allreduce-bench/backends.hpp"
#include "cmd/dt-allreduce-bench/options.hpp"
#include "cmd/dt-allreduce-bench/rank_device.hpp"
#include "cmd/dt-allreduce-bench/verdict.hpp"
#include "comm/exchange.hpp"
#include "comm/mpi/launcher.hpp"
#include "comm/mpi/run_ranks.hpp"
#include "comm/mpi/world.hpp"
#include "comm/ranks.hpp"
#include "comm/topology/environment.hpp"
#include "comm/topology/host_order.hpp"

namespace dt::allreduce_bench {

namespace {

/// Returns the settings for messages between two ranks: the smallest and the largest size of the
/// options.
bench::LinkSettings link_settings(const Options& options) {
  const bench::Problem problem{
      .operation = bench::Operation::send_receive, .dtype = options.dtype, .num_ranks = 2};
  const std::vector<bench::Problem> sizes =
      bench::at_sizes(problem, std::array{options.min_bytes, options.max_bytes});
  return {sizes.front(), sizes.back(), options.measure, options.slow_below};
}

/// Measures each rank's device. Rank 0 prints a table, or with --json an object per rank.
/// Collective: called by all ranks together; blocks.
std::vector<bench::RankedDevice> measure_devices(const Options& options, const RankDevice& device,
                                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                                 const comm::Ranks& ranks) {
  const bench::DeviceSettings settings{
      .copy_bytes = options.max_bytes, .measure = options.measure, .slow_below = options.slow_below};
  const auto measure = [&](const Context& context) {
    return bench::measure_devices(ranks.world, context, settings, device.places(), workspace, limit);
  };
  const bool is_gpu = device.context().device() != Device::host();
  if (!is_gpu) comm::require_threads(ranks, device.cores());
  std::vector<bench::RankedDevice> devices =
      is_gpu ? measure(device.context()) : measure(Context(device.cores(), Device::host()));
  ranks.console.write_text(ranks.console.json() ? bench::json_device_lines(devices)
                                                : bench::device_table(devices));
  return devices;
}

/// Measures the link between every two ranks. Prints the results as measure_devices() does.
/// Collective: called by all ranks together; blocks.
bench::LinkSection measure_links(const Options& options, const RankDevice& device, bench::Backend& backend,
                                 bench::Workspace& workspace, bench::DeadlineTimer& limit,
                                 const comm::Ranks& ranks) {
  std::vector<std::string> hosts;
  for (const bench::DevicePlace& place : device.places()) hosts.push_back(place.host);
  bench::LinkSection section{
      backend.name(),
      bench::measure_links(ranks.world, backend, link_settings(options), hosts, workspace, limit)};
  ranks.console.write_text(ranks.console.json() ? bench::json_link_lines(section, device.places())
                                                : bench::link_table(section, device.places()));
  return section;
}

/// One operation of one backend at all its sizes.
struct Sweep {
  bench::Backend* backend;
  std::vector<bench::Problem> problems;
};

/// Returns the options that every rank must share: all except the output files of rank 0.
std::string shared_options(const std::vector<OptionValue>& values) {
  std::string text;
  for (const OptionValue& option : values) {
    if (option.name != "csv" && option.name != "json-file") text += option.name + " " + option.value + "\n";
  }
  return text;
}

void check_same_options(const Request& request, comm::Communicator& world) {
  const std::string mine = shared_options(request.values);
  const std::string first = comm::broadcast_text(world, mine);
  comm::run_collectively(world, [&] {
    const std::vector<std::string> ours = split(mine, '\n'), theirs = split(first, '\n');
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      if (ours[i] == theirs[i]) continue;
      throw Error(ErrorKind::usage, fmt::format("got --{}, but rank 0 got --{}", ours[i], theirs[i]),
                  "start all ranks with the same options and the same version");
    }
    if (ours.size() != theirs.size())
      throw Error(ErrorKind::usage, "the version of dt differs from that of rank 0",
                  "start all ranks with the same version");
  });
}

void check_counts(const Options& options, const bench::Backend& backend, const bench::Problem& largest) {
  const std::int64_t most = backend.max_count();
  if (largest.count() <= most) return;
  const std::int64_t most_bytes = most * (largest.bytes() / largest.count());
  throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--max-bytes'", options.max_bytes),
              fmt::format("expected at most {}, since --backend {} supports at most {} {}s of {}", most_bytes,
                          backend.name(), most, name_in(bench::dtype_names, options.dtype),
                          name_of(largest.operation)));
}

std::vector<Sweep> make_sweeps(const Options& options, const comm::Ranks& ranks,
                               const std::vector<std::unique_ptr<bench::Backend>>& backends) {
  const std::vector<std::int64_t> sizes = options.sizes();
  std::vector<Sweep> sweeps;
  for (const bench::Operation operation : options.chosen_operations()) {
    const bench::Problem problem{.operation = operation,
                                 .dtype = options.dtype,
                                 .reduction = options.reduction,
                                 .root = static_cast<int>(options.root),
                                 .num_ranks = ranks.world.size()};
    for (const auto& backend : backends) {
      backend->require(operation, problem.dtype, problem.reduction);
      sweeps.push_back({backend.get(), bench::at_sizes(problem, sizes)});
      check_counts(options, *backend, sweeps.back().problems.back());
    }
  }
  return sweeps;
}

void check_pairs(const Options& options, const std::vector<std::unique_ptr<bench::Backend>>& backends) {
  if (!options.pairs) return;
  for (const auto& backend : backends) check_counts(options, *backend, link_settings(options).large);
}

std::int64_t largest_bytes(const Options& options, const std::vector<Sweep>& sweeps) {
  std::int64_t largest = options.devices || options.pairs ? options.max_bytes : 0;
  for (const Sweep& sweep : sweeps) {
    for (const bench::Problem& problem : sweep.problems) largest = std::max(largest, problem.bytes());
  }
  return largest;
}

/// Checks that the options' bounds apply: a single rank has no bandwidth.
void check_bounds(const Options& options, int num_ranks) {
  for (const auto& [option, bound] :
       {std::pair{"min-bandwidth", options.min_bandwidth}, {"max-latency", options.max_latency}}) {
    if (bound && num_ranks == 1)
      throw Error(ErrorKind::usage, fmt::format("--{} needs several ranks", option),
                  fmt::format("start them with {}, or srun {}", comm::mpi::launching().command,
                              comm::mpi::launching().srun_option));
  }
}

/// Checks host memory only, since a GPU's allocator reports a shortage itself.
void check_memory(std::int64_t max_bytes, Device device, int ranks_on_host) {
  const double needed =
      static_cast<double>(bench::Workspace::host_bytes_needed(max_bytes, device)) * ranks_on_host;
  if (needed <= static_cast<double>(usable_memory_bytes())) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("{} on {} {} {} of memory in total, but the host has {}", pluralize(ranks_on_host, "rank"),
                  host_name(), plural_form(ranks_on_host, "needs", "need"),
                  format_bytes(static_cast<std::uint64_t>(needed)), format_bytes(usable_memory_bytes())),
      "lower --max-bytes");
}

/// A file for results. The constructor proves that it can be written. The content appears at the
/// end, all at once.
class ResultFile {
 public:
  explicit ResultFile(fs::path path) : path_(std::move(path)) {
    require_parent_folder(path_);
    const fs::file_status status = fs::status(path_);
    if (fs::is_directory(status)) throw environment_error("cannot write {}: it is a folder", path_.string());
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      special_ = open_device(path_);
    } else {
      const AtomicFile probe(path_);  // leaves no file
    }
  }
  void write(const std::string& content) {
    if (!special_.is_open()) return write_file_atomically(path_, content);
    special_.write(content);
    special_.close();
  }

 private:
  fs::path path_;
  File special_;  // a pipe or a device, which is not replaced
};

bench::RunDescription describe(const Request& request, const RankDevice& device, const comm::Ranks& ranks) {
  bench::RunDescription run;
  run.command = bench::shell_line(request.arguments);
  run.date = utc_timestamp();
  run.dt_version = build_description();
  if (ranks.collectives != nullptr) run.mpi_version = comm::mpi::library_version();
  std::vector<std::string> hosts, gpus;
  for (const bench::DevicePlace& place : device.places()) {
    hosts.push_back(place.host);
    if (request.options.device == comm::DeviceRequest::cuda) gpus.push_back(place.name);
  }
  run.hosts = bench::count_names(hosts);
  run.device = name_of(request.options.device);
  run.gpus = bench::count_names(gpus);
  run.environment = comm::environment_settings();
  run.num_ranks = ranks.world.size();
  run.min_bytes = request.options.min_bytes;
  run.max_bytes = request.options.max_bytes;
  run.step = request.options.step();
  run.settings = request.options.measure;
  return run;
}

bench::Section measure(const Sweep& sweep, bench::Workspace& workspace, bench::DeadlineTimer& limit,
                       const bench::MeasureSettings& settings, const comm::Ranks& ranks) {
  const bench::Operation operation = sweep.problems.front().operation;
  Console& console = ranks.console;
  bench::Section section{operation, sweep.backend->name(), {}};
  if (!console.json()) console.write_text(bench::table_section(operation, section.backend));
  for (const bench::Problem& problem : sweep.problems) {
    const auto time = [&](bool in_place) {
      return bench::measure(ranks.world, *sweep.backend, problem, in_place, workspace, settings);
    };
    limit.begin(fmt::format("{} of {} bytes by {}", name_of(operation), problem.bytes(), section.backend));
    bench::Row row{problem, section.backend, time(false), std::nullopt};
    if (bench::traits(operation).has_in_place) row.in_place = time(true);
    limit.end();
    console.write_text(console.json() ? bench::json_row_line(row) : bench::table_row(row));
    section.rows.push_back(std::move(row));
  }
  console.write_text(console.json() ? bench::json_section_line(section)
                                    : bench::table_foot(section, settings.checks > 0));
  return section;
}

int measure_all(const Request& request, const comm::Ranks& ranks) {
  const Options& options = request.options;
  comm::Communicator& world = ranks.world;
  bench::DeadlineTimer limit(options.timeout.seconds, ranks.abort);
  limit.begin("preparing the measurements");
  check_same_options(request, world);
  comm::warn_differing_settings(ranks);
  const RankDevice rank_device(options.device, ranks, options.timeout.seconds);
  const Device device = rank_device.context().device();
  const auto backends = make_backends(options.backends, device, ranks);
  const int ranks_on_host = comm::ranks_on_host(world);
  std::vector<Sweep> sweeps;
  std::optional<bench::Workspace> workspace;
  std::optional<ResultFile> csv, json;
  comm::run_collectively(world, [&] {
    if (options.root >= world.size()) {
      throw Error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--root'", options.root),
                  world.size() == 1
                      ? std::string("expected 0: there is one rank")
                      : fmt::format("expected one of {} ranks: 0 to {}", world.size(), world.size() - 1));
    }
    sweeps = make_sweeps(options, ranks, backends);
    check_pairs(options, backends);
    check_bounds(options, world.size());
    check_memory(largest_bytes(options, sweeps), device, ranks_on_host);
    workspace.emplace(rank_device.context(), largest_bytes(options, sweeps));
    if (ranks.is_root() && options.csv) csv.emplace(*options.csv);
    if (ranks.is_root() && options.json_file) json.emplace(*options.json_file);
  });
  const bench::RunDescription run = describe(request, rank_device, ranks);
  limit.end();
  if (world.size() == 1 && options.has_messages())
    ranks.console.info(
        "a single rank sends no messages; start several with {} -n 4 dt-allreduce-bench, or srun {} -n 4 ...",
        comm::mpi::launching().command, comm::mpi::launching().srun_option);
  ranks.console.write_text(ranks.console.json() ? bench::json_run_line(run) : bench::table_head(run));
  bench::Results results{.places = rank_device.places()};
  if (options.devices) results.devices = measure_devices(options, rank_device, *workspace, limit, ranks);
  for (const auto& backend : backends) {
    if (options.pairs)
      results.links.push_back(measure_links(options, rank_device, *backend, *workspace, limit, ranks));
  }
  for (const Sweep& sweep : sweeps)
    results.sections.push_back(measure(sweep, *workspace, limit, options.measure, ranks));
  limit.begin("writing the results");
  comm::run_collectively(world, [&] {
    if (csv) csv->write(bench::csv_document(run, results));
    if (json) json->write(bench::json_document(run, results));
  });
  check_results(options, results, ranks.console);
  return 0;
}

}  // namespace

int run(const Request& request, Console& console) {
  const auto is_asked = [&](const char* name) {
    return std::ranges::find(request.options.backends, name) != request.options.backends.end();
  };
  std::optional<std::string> kind;
  if (is_asked("mpi")) kind = "mpi";
  if (is_asked("nccl")) kind = "nccl";
  constexpr int of_mpi = 8;  // MPI's own threads; MPI ends the process if it cannot start one
  require_threads(of_mpi);
  return comm::mpi::run_ranks(
      kind, console, [&](const comm::Ranks& ranks) { return measure_all(request, ranks); },
      comm::mpi::Threads::single);
}

}  // namespace dt::allreduce_bench
