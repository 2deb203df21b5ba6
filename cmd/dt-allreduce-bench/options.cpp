#include "cmd/dt-allreduce-bench/options.hpp"

#include <algorithm>
#include <array>

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
    throw invalid("", "operations", "all, or of " + bench::operation_names());
  for (const std::string& name : options.operations) {
    if (value_in(bench::reduction_names, name)) {
      throw Error(
          ErrorKind::usage, fmt::format("unknown operation '{}'", name),
          fmt::format("nccl-tests' -o is -r here: write -r {} (--reduction); -o (--operations) takes {}",
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
  return is_number ? fmt::format("nccl-tests' -r is --root here: write --root {}; ", reduction) : "";
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
                fmt::format("--backend {} takes memory of {} alone, not of --device {}", name, what,
                            name_of(options.device)),
                fmt::format("give another --backend, or --device {}", name_of(device)));
  };
  check("mpi", comm::DeviceRequest::cpu, "hosts");
  check("nccl", comm::DeviceRequest::cuda, "GPUs");
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
                "give both, the smaller first");
  }
  if (options.step_bytes && table.given("step-factor"))
    throw Error(ErrorKind::usage, "--step-factor and --step-bytes exclude each other", "give one of them");
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

void declare(OptionTable& table, Options& options) {
  const auto has_operations = [&options] { return !options.chosen_operations().empty(); };
  const auto has_messages = [&options] { return options.has_messages(); };
  constexpr const char *an_operation = "--operations beside --devices or --pairs",
                       *a_message = "--pairs or --operations beside --devices";
  table.run_as_ranks()
      .usage("[options]    started by mpirun or srun, one process a rank")
      .group("What to measure")
      .add("operations,o", &options.operations, "LIST",
           "all, or of " + bench::operation_names() +
               "; alltoall is all_to_all; default: all_reduce, or none with --devices or --pairs")
      .add("devices", &options.devices,
           "each rank's device by itself: matrix products, copies of --max-bytes within its memory, to its "
           "host and from there")
      .add(
          "pairs", &options.pairs,
          "send_receive between every two ranks, --min-bytes for the latency, --max-bytes for the bandwidth; "
          "ranks of a host take turns, so with very many nodes start one rank on each")
      .add("backend", &options.backends, "LIST",
           "mpi: the MPI library's own operations; dt: those that dt-train uses; nccl: NCCL's own, of GPUs; "
           "mpi,dt: "
           "one after the other; default: mpi under mpirun or srun, else dt; on GPUs dt")
      .require(a_message, has_messages)
      .choice("device", &options.device, devices,
              "whose memory the elements lie in: hosts', or that of GPUs, of which each rank takes one")
      .choice("dtype,d", &options.dtype, bench::dtype_names, "type of the elements")
      .require(a_message, has_messages)
      .choice("reduction,r", &options.reduction, bench::reduction_names,
              "how ranks' elements are combined (nccl-tests' -o)")
      .add_hint(advise_root)
      .require(an_operation, has_operations)
      .add("root", &options.root, "RANK", "root of broadcast, reduce, gather and scatter (nccl-tests' -r)")
      .require(an_operation, has_operations)
      .group("Sizes")
      .add("min-bytes,b", &options.min_bytes, "BYTES", "the first size", 1)
      .use_binary_units()
      .require(a_message, has_messages)
      .add("max-bytes,e", &options.max_bytes, "BYTES", "no size is above this", 1, std::int64_t{1} << 40)
      .use_binary_units()
      .add("step-factor,f", &options.step_factor, "FACTOR", "a size is the one before times FACTOR")
      .require(an_operation, has_operations)
      .add("step-bytes,i", &options.step_bytes, "BYTES", "a size is the one before and BYTES more", 1)
      .use_binary_units()
      .require(an_operation, has_operations)
      .group("How to measure")
      .add("iterations,n", &options.measure.iterations, "N",
           "operations that are timed together, on the same memory: small sizes stay in caches", 1, max_count)
      .add("warmup,w", &options.measure.warmup, "N", "operations before that", 0, max_count)
      .add("check,c", &options.measure.checks, "N",
           "operations after that whose every element is compared; exit 5 when any is wrong; 0 for none", 0,
           max_count)
      .require(a_message, has_messages)
      .add("timeout", &options.timeout, "TIME",
           "when one size of an operation, or of devices or pairs what is measured at once, takes longer, "
           "say which "
           "and end all ranks with exit 4")
      .group("What is too slow: named, exit 5")
      .add(
          "slow-below", &options.slow_below, "FRACTION",
          "a device whose rate is below this times the median of those of its name; a pair whose bandwidth "
          "is, of the pairs within hosts, or between them; pairs of GPUs with NVLink that are no faster than "
          "PCIe; 0 for none of these",
          0, 1)
      .require("--devices or --pairs", [&options] { return options.devices || options.pairs; })
      .add("min-bandwidth", &options.min_bandwidth, "GB/S",
           "an operation whose bus bandwidth at its largest size is below, a pair whose bandwidth is", 0)
      .require(a_message, has_messages)
      .add("max-latency", &options.max_latency, "US",
           "an operation that takes longer at its smallest size, a pair whose latency is longer", 0)
      .require(a_message, has_messages)
      .group("Output")
      .add("csv", &options.csv, "FILE",
           "also write a line per row of the table, with all that identifies the run")
      .add("json-file", &options.json_file, "FILE",
           "also write one JSON object; FILE appears when all is measured")
      .add_aliases("reduction", {"op"})
      .add_aliases("dtype", {"datatype"})
      .add_aliases("warmup", {"warmup-iters"})
      .add_unsupported(
          {"g", "ngpus", "t", "nthreads"},
          "a rank is a process: mpirun -n N or srun -n N starts them, and with --device cuda each takes "
          "a GPU")
      .example("mpirun -n 4 dt-allreduce-bench", "all-reduce among four processes, 8 bytes to 128 MiB")
      .example(
          "srun --mpi=pmix -N 8 --ntasks-per-node 1 dt-allreduce-bench -o all -b 1Mi -e 64Mi --csv nodes.csv",
          "one process a node: the network alone")
      .example("mpirun -n 4 dt-allreduce-bench --backend mpi,dt -d bfloat16 -o all_gather --json | jq .",
               "dt's operations beside MPI's, for programs")
      .example("srun --mpi=pmix dt-allreduce-bench --device cuda --devices --pairs -e 64Mi",
               "which GPU or link of an allocation is slower than the others")
      .complete("operations", operation_values())
      .complete("backend", {backend_names.begin(), backend_names.end()})
      .everyday({"operations", "backend", "device", "dtype", "min-bytes", "max-bytes", "iterations",
                 "devices", "pairs", "csv"})
      .check([&table, &options] {
        check_names(table, options);
        check_device(options);
        check_sizes(table, options);
        check_timeout(options);
        check_files(options);
      });
}

}  // namespace dt::allreduce_bench
