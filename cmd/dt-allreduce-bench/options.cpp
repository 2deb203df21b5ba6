#include "cmd/dt-allreduce-bench/options.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>

#include "base/error.hpp"

namespace dt::allreduce_bench {

namespace {

constexpr std::array<const char*, 3> backend_names = {"mpi", "dt", "nccl"};
constexpr std::int64_t max_count = 1'000'000'000;

Error invalid(const std::string& value, const char* option, const std::string& expected) {
  return Error(ErrorKind::usage, fmt::format("invalid value '{}' for option '--{}'", value, option),
               "expected " + expected);
}

void check_names(const OptionTable& table, const Options& options) {
  if (options.operations.empty() && table.given("operations"))
    throw invalid("", "operations", "all, or a list of " + bench::operation_names());
  for (const std::string& name : options.operations) {
    if (value_in(bench::reduction_names, name)) {
      throw Error(
          ErrorKind::usage, fmt::format("unknown operation '{}'", name),
          fmt::format("-o of nccl-tests is -r here: write -r {} (--reduction); -o (--operations) takes {}",
                      name, bench::operation_names()));
    }
    if (name != "all") bench::parse_operation(name);
  }
  for (const std::string& name : options.backends) {
    if (std::find(backend_names.begin(), backend_names.end(), name) == backend_names.end())
      throw invalid(name, "backend", "mpi, dt or nccl, or several: mpi,dt");
  }
}

/// Returns the values of --operations.
std::vector<std::string> operation_values() {
  std::vector<std::string> names = {"all"};
  for (const bench::OperationTraits& entry : bench::operations()) names.emplace_back(name_of(entry.kind));
  return names;
}

/// Returns advice for users of nccl-tests, where -r names the root.
std::string advise_root(const std::string& reduction) {
  const bool is_number = !reduction.empty() && reduction.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? fmt::format("-r of nccl-tests is --root here: write --root {}; ", reduction) : "";
}

/// The devices whose memory is measured.
constexpr auto devices =
    subset<comm::DeviceRequest::cpu, comm::DeviceRequest::cuda>(enum_names(comm::DeviceRequest{}));

/// Checks that backends support the device: MPI's operations take host memory only, NCCL's GPU
/// memory only.
void check_device(const Options& options) {
  const auto check = [&](const char* name, comm::DeviceRequest device, const std::string& what) {
    const bool is_asked = std::ranges::find(options.backends, name) != options.backends.end();
    if (!is_asked || options.device == device) return;
    throw Error(ErrorKind::usage,
                fmt::format("--backend {} works on {} memory only, not with --device {}", name, what,
                            name_of(options.device)),
                fmt::format("use another --backend, or --device {}", name_of(device)));
  };
  check("mpi", comm::DeviceRequest::cpu, "host");
  check("nccl", comm::DeviceRequest::cuda, "GPU");
}

void check_sizes(const OptionTable& table, const Options& options) {
  const auto element = static_cast<std::int64_t>(dtype_bytes(options.dtype));
  const auto check_multiple = [&](const char* option, std::int64_t bytes) {
    if (bytes % element == 0) return;
    throw invalid(std::to_string(bytes), option,
                  fmt::format("a multiple of {}, the bytes of a {}", element,
                              name_in(bench::dtype_names, options.dtype)));
  };
  check_multiple("min-bytes", options.min_bytes);
  if (options.step_bytes) check_multiple("step-bytes", *options.step_bytes);
  if (options.min_bytes > options.max_bytes) {
    throw Error(ErrorKind::usage,
                fmt::format("--min-bytes {} is above --max-bytes {}", options.min_bytes, options.max_bytes),
                "lower --min-bytes or raise --max-bytes");
  }
  if (options.step_bytes && table.given("step-factor"))
    throw Error(ErrorKind::usage, "--step-factor cannot be combined with --step-bytes", "give one of them");
  if (options.step_factor <= 1)
    throw invalid(fmt::format("{}", options.step_factor), "step-factor", "a number above 1");
}

void check_timeout(const Options& options) {
  const double seconds = options.timeout.seconds;
  if (!(seconds > 0))
    throw invalid(fmt::format("{}", seconds), "timeout", "a time above 0, such as 90, 90s, 5m");
}

void check_files(const Options& options) {
  for (const auto& [option, path] : {std::pair{"csv", options.csv}, {"json-file", options.json_file}}) {
    if (path && (path->empty() || *path == "-"))
      throw invalid(*path, option, "the name of a file; --json writes to standard output");
  }
  if (options.csv && options.csv == options.json_file)
    throw usage_error("--csv and --json-file name the same file, '{}'", *options.csv);
}

void check_options(const OptionTable& table, const Options& options) {
  check_names(table, options);
  check_device(options);
  check_sizes(table, options);
  check_timeout(options);
  check_files(options);
}

}  // namespace

std::vector<bench::Operation> Options::chosen_operations() const {
  std::vector<bench::Operation> chosen;
  const auto add = [&](bench::Operation operation) {
    if (std::find(chosen.begin(), chosen.end(), operation) == chosen.end()) chosen.push_back(operation);
  };
  if (operations.empty() && !devices && !pairs) return {bench::Operation::all_reduce};
  for (const std::string& name : operations) {
    if (name != "all") {
      add(bench::parse_operation(name));
    } else {
      for (const bench::OperationTraits& entry : bench::operations()) add(entry.kind);
    }
  }
  return chosen;
}

std::vector<std::int64_t> Options::sizes() const {
  return bench::sizes_between(min_bytes, max_bytes, step_factor, step_bytes.value_or(0));
}

std::string Options::step() const {
  return step_bytes ? fmt::format("{} (bytes)", *step_bytes) : fmt::format("{} (factor)", step_factor);
}

namespace {

// Conditions of options, as errors name them.
constexpr const char* an_operation = "--operations when --devices or --pairs is given";
constexpr const char* a_message = "--pairs or --operations when --devices is given";

std::function<bool()> has_operations(const Options& options) {
  return [&options] { return !options.chosen_operations().empty(); };
}

std::function<bool()> has_messages(const Options& options) {
  return [&options] { return options.has_messages(); };
}

void add_measurements(OptionTable& table, Options& options) {
  table.group("Measurements")
      .add("operations,o", &options.operations, "LIST",
           "operations, or all; default: all_reduce, or none with --devices or --pairs")
      .details(fmt::format("The operations are {}. alltoall is another name of all_to_all.",
                           bench::operation_names()))
      .add("devices", &options.devices, "measure each rank's device: matrix products and memory copies")
      .details("Each copy has --max-bytes: within the device's memory, to the host, and from the host.")
      .add("pairs", &options.pairs, "measure send_receive between every two ranks")
      .details(
          "The latency is that of --min-bytes, the bandwidth that of --max-bytes. Ranks of a host take "
          "turns, so with very many nodes start one rank on each.")
      .add("backend", &options.backends, "LIST",
           "mpi, dt, nccl or a list of them; default: mpi under mpirun or srun on CPUs, otherwise dt")
      .details(
          "mpi: the MPI library's own operations. dt: the operations that dt-train uses. nccl: NCCL's own "
          "operations, on GPUs. The backends of a list are measured one after the other.")
      .require(a_message, has_messages(options));
}

/// Adds what the elements are. Continues the group of measurements.
void add_elements(OptionTable& table, Options& options) {
  table
      .choice("device", &options.device, devices,
              "memory that holds the elements: host memory, or the memory of one GPU per rank")
      .choice("dtype,d", &options.dtype, bench::dtype_names, "data type of the elements")
      .require(a_message, has_messages(options))
      .choice("reduction,r", &options.reduction, bench::reduction_names,
              "reduction operator (-o of nccl-tests)")
      .add_hint(advise_root)
      .require(an_operation, has_operations(options))
      .add("root", &options.root, "RANK", "root of broadcast, reduce, gather and scatter (-r of nccl-tests)")
      .require(an_operation, has_operations(options));
}

void add_sizes(OptionTable& table, Options& options) {
  table.group("Sizes")
      .add("min-bytes,b", &options.min_bytes, "BYTES", "smallest size", 1)
      .use_binary_units()
      .require(a_message, has_messages(options))
      .add("max-bytes,e", &options.max_bytes, "BYTES", "largest size", 1, std::int64_t{1} << 40)
      .use_binary_units()
      .add("step-factor,f", &options.step_factor, "FACTOR", "multiply each size by FACTOR to get the next")
      .require(an_operation, has_operations(options))
      .add("step-bytes,i", &options.step_bytes, "BYTES", "add BYTES to each size to get the next", 1)
      .use_binary_units()
      .require(an_operation, has_operations(options));
}

void add_method(OptionTable& table, Options& options) {
  table.group("Method")
      .add("iterations,n", &options.measure.iterations, "N", "number of timed operations per size", 1,
           max_count)
      .details("The operations are timed together and use the same memory, so small sizes stay in caches.")
      .add("warmup,w", &options.measure.warmup, "N",
           "number of untimed operations per size, before the timed ones", 0, max_count)
      .add("check,c", &options.measure.checks, "N",
           "number of checked operations per size; exit 5 if any result is wrong; 0: none", 0, max_count)
      .details("The checked operations follow the timed ones. Every element is compared.")
      .require(a_message, has_messages(options))
      .add("timeout", &options.timeout, "TIME",
           "maximum time to measure one size; if it is exceeded, all ranks end with exit 4")
      .details("With --devices and --pairs the limit applies to each measurement.");
}

void add_limits(OptionTable& table, Options& options) {
  table.group("Limits (exit 5 if anything is too slow)")
      .add("slow-below", &options.slow_below, "FRACTION",
           "report devices and pairs below this fraction of their peers' median; 0: none", 0, 1)
      .details(
          "The peers of a device are the devices with the same name. Pairs are compared by bandwidth; the "
          "peers of a pair are all pairs within hosts, or all pairs between hosts. Pairs of GPUs with NVLink "
          "that are no faster than PCIe are also reported.")
      .require("--devices or --pairs", [&options] { return options.devices || options.pairs; })
      .add("min-bandwidth", &options.min_bandwidth, "GB/S",
           "minimum bus bandwidth of an operation at its largest size, and bandwidth of a pair", 0)
      .require(a_message, has_messages(options))
      .add("max-latency", &options.max_latency, "US",
           "maximum time of an operation at its smallest size, and latency of a pair", 0)
      .require(a_message, has_messages(options));
}

void add_output(OptionTable& table, Options& options) {
  table.group("Output")
      .add("csv", &options.csv, "FILE", "also write a CSV file, with a line per row of the table")
      .details("Each line also identifies the run: date, command, hosts, devices and versions.")
      .add("json-file", &options.json_file, "FILE", "also write all results as one JSON object")
      .details("FILE appears when all measurements are complete.");
}

/// Adds other tools' names for the options.
void add_foreign_option_names(OptionTable& table) {
  table.add_aliases("reduction", {"op"})
      .add_aliases("dtype", {"datatype"})
      .add_aliases("warmup", {"warmup-iters"})
      .add_unsupported({"g", "ngpus", "t", "nthreads"},
                       "each rank is a process: start them with mpirun -n N or srun -n N; with --device cuda "
                       "each rank uses one GPU");
}

void add_examples(OptionTable& table) {
  table
      .example("mpirun -n 4 dt-allreduce-bench",
               "measure all-reduce among four processes, from 8 bytes to 128 MiB")
      .example(
          "srun --mpi=pmix -N 8 --ntasks-per-node 1 dt-allreduce-bench -o all -b 1Mi -e 64Mi --csv nodes.csv",
          "measure the network, with one process per node; with MPICH --mpi=pmi2")
      .example("mpirun -n 4 dt-allreduce-bench --backend mpi,dt -d bfloat16 -o all_gather --json | jq .",
               "compare dt's operations with MPI's, as JSON")
      .example("srun --mpi=pmix dt-allreduce-bench --device cuda --devices --pairs -e 64Mi",
               "find a GPU or link of an allocation that is slower than its peers");
}

}  // namespace

OptionTable make_options(Options& options) {
  OptionTable table("dt-allreduce-bench",
                    "measure collective operations, as nccl-tests does, and check their results");
  table.run_as_ranks().usage("[options]   (under mpirun or srun, one process per rank)");
  add_measurements(table, options);
  add_elements(table, options);
  add_sizes(table, options);
  add_method(table, options);
  add_limits(table, options);
  add_output(table, options);
  add_foreign_option_names(table);
  add_examples(table);
  table.complete("operations", operation_values())
      .complete("backend", {backend_names.begin(), backend_names.end()})
      .everyday({"operations", "backend", "device", "dtype", "min-bytes", "max-bytes", "iterations",
                 "devices", "pairs", "csv"})
      .check([&options](const OptionTable& given) { check_options(given, options); });
  return table;
}

}  // namespace dt::allreduce_bench
