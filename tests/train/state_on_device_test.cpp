#include <atomic>
#include <catch2/catch.hpp>
#include <numeric>
#include <optional>

#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"
#include "comm/exchange.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "model/initialise.hpp"
#include "run/save/saver.hpp"
#include "run/save/shared_target.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/consistency_checks.hpp"
#include "train/start/state_io.hpp"

using namespace dt;

namespace {

constexpr Device host = Device::host(), gpu = Device::gpu(0);
using Bytes = std::vector<std::vector<std::byte>>;

model::ModelSpec spec() {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.layers = 1;
  s.hidden = 24;
  s.mlp_hidden = 40;
  s.vocabulary = 101;
  return s;
}
const model::ParameterTable& table() {
  static const model::ParameterTable of(spec());
  return of;
}

/// A rank's shard of the model, on a device.
struct State {
  State(Device device, parallel::Precision precision, const model::Layout& layout, comm::Communicator& world,
        bool trains = true)
      : context(1, device),
        lanes(parallel::LanePlan(layout.dp, layout.dp).of_rank(world.rank(), layout.dp)),
        groups(layout, world),
        local(table(), layout, layout.coordinates_of(world.rank())),
        storage(device, local, precision, trains ? &lanes : nullptr, groups, {"adam_m", "adam_v"}) {}

  void initialise() {
    for (const parallel::LocalParam& param : local.params()) {
      storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local.spec(param), 7, piece, values, 1);
      });
    }
  }
  /// Enqueues copies of new values, all different, to the optimizer's state. `values` must stay
  /// until the copies are done.
  void fill(std::vector<float>& values, float first) {
    std::size_t numel = 0;
    for (const Tensor& part : optimizers()) numel += static_cast<std::size_t>(part.numel());
    values.resize(numel);
    std::iota(values.begin(), values.end(), first);
    std::int64_t begin = 0;
    for (const Tensor& part : optimizers()) {
      kernels::copy(context, host_tensor(values).flat(begin, part.numel()), part);
      begin += part.numel();
    }
    for (int group = 0; storage.precision().has_masters() && group < storage.num_groups(); ++group)
      kernels::cast(context, storage.group_masters(group), storage.group_weights(group));
  }
  std::vector<Tensor> optimizers() const {
    std::vector<Tensor> parts;
    for (int group = 0; group < storage.num_groups(); ++group) {
      if (storage.group_masters(group)) parts.push_back(storage.group_masters(group));
      for (const Tensor& part : storage.group_states(group))
        if (part) parts.push_back(part);
    }
    return parts;
  }
  /// Returns the bytes of all parameters, without padding.
  Bytes contents() const {
    std::vector<Tensor> parts;
    for (const parallel::LocalParam& param : local.params()) {
      std::vector<Tensor> of_group = storage.group_states(param.group);
      of_group.push_back(storage.group_weights(param.group));
      of_group.push_back(storage.group_masters(param.group));
      for (const Tensor& part : of_group)
        if (part) parts.push_back(param.view_in_shard(part));
    }
    return on_host(parts);
  }
  Bytes on_host(const std::vector<Tensor>& tensors) const {
    Bytes bytes;
    for (const Tensor& tensor : tensors) {
      const HostMirror copy(context, tensor);
      const auto span = copy.tensor().span_bytes();
      bytes.emplace_back(span.begin(), span.end());
    }
    return bytes;
  }

  Context context;
  parallel::LanePlan lanes;
  parallel::Groups groups;
  parallel::LocalTable local;
  parallel::ModelStorage storage;
};

/// Calls body on each rank.
void on_ranks(int size, const std::function<void(const comm::Ranks&)>& body) {
  comm::run_threads(size, [&](comm::Communicator& world) {
    Console console(
        {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never});
    body({world, console, [](const Error&) {}, false});
    return 0;
  });
}

/// A run's folder, and its saves.
struct Run {
  Run() {
    directory.create();
    own = directory.claim("", 0);
  }
  checkpoint::Manifest header() const {
    checkpoint::Manifest manifest = checkpoint::test::sample_manifest(10, own.number);
    manifest.model = spec();
    return manifest;
  }
  fs::path saved() const { return directory.checkpoints().at(0).path; }

  dt_test::Folder folder;
  run::RunDirectory directory{folder.path()};
  run::Generation own;
};

struct Saving {
  Device from, to;
  bool in_background;
  std::optional<std::int64_t> writers;
  parallel::Precision precision;
  int zero;
};

constexpr parallel::Precision half{.compute = DType::bf16};

/// Saves a rank's state and loads it elsewhere. Counts a difference if any byte of the parameters
/// differs.
void save_and_load(const Saving& c, const Run& run, const comm::Ranks& ranks, std::atomic<int>& differences) {
  const model::Layout layout{.dp = ranks.world.size(), .zero = c.zero};
  State state(c.from, c.precision, layout, ranks.world), loaded(c.to, c.precision, layout, ranks.world);
  std::vector<float> values;
  state.fill(values, c.zero > 0 ? static_cast<float>(ranks.world.rank()) : 0);
  run::SharedTarget target(ranks, run.directory, run.own, {});
  run::Saver saver(ranks, train::pieces_of_ranks(state.context, state.storage), c.in_background, c.writers);
  saver.begin(target, run.header(), c.in_background);
  saver.wait_until_copied();
  saver.finish();
  train::load_state(loaded.context, checkpoint::Reader(run.saved()), loaded.storage);
  if (loaded.contents() != state.contents()) ++differences;
}

}  // namespace

TEST_CASE("initial values on a device have the CPU's bits", "[device]") {
  const parallel::Precision precision =
      GENERATE(parallel::Precision{}, half, parallel::Precision{.compute = DType::f16},
               parallel::Precision{.compute = DType::f64, .gradient = DType::f64});
  const bool trains = GENERATE(true, false);
  const test_device::Use device(1);
  comm::run_alone([&](comm::Communicator& world) {
    State here(host, precision, {}, world, trains), there(gpu, precision, {}, world, trains);
    here.initialise();
    there.initialise();
    CHECK((there.contents() == here.contents()));
    return 0;
  });
}

TEST_CASE("a state that was saved on one device is the same on another", "[device]") {
  const auto c = GENERATE(Saving{gpu, host, true, {}, {}, 0}, Saving{gpu, host, false, {}, half, 1},
                          Saving{gpu, host, true, 1, half, 0}, Saving{gpu, host, false, 1, {}, 1},
                          Saving{gpu, gpu, true, 2, half, 1}, Saving{gpu, host, false, 2, {}, 0},
                          Saving{host, gpu, true, {}, half, 0}, Saving{host, gpu, false, 1, {}, 1},
                          Saving{host, gpu, true, 2, {}, 0}, Saving{host, gpu, false, {}, half, 1});
  const test_device::Use device(1);
  const Run run;
  std::atomic<int> differences = 0;
  on_ranks(2, [&](const comm::Ranks& ranks) { save_and_load(c, run, ranks, differences); });
  CAPTURE(c.from.to_string(), c.to.to_string(), c.in_background, c.writers.value_or(0), c.zero);
  CHECK(differences == 0);
}

TEST_CASE("a save is of the state that the stream was making at its begin, whatever it is given later",
          "[device]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(1, 9)));
  const bool in_background = GENERATE(true, false);
  const test_device::Use device(seed);
  const Run run;
  on_ranks(1, [&](const comm::Ranks& ranks) {
    State state(gpu, half, {}, ranks.world), here(host, half, {}, ranks.world);
    std::vector<float> before, later, same;
    here.fill(same, 3);
    run::SharedTarget target(ranks, run.directory, run.own, {});
    run::Saver saver(ranks, train::pieces_of_ranks(state.context, state.storage), in_background, {});
    state.fill(before, 3);  // the host does not wait for these copies
    saver.begin(target, run.header(), in_background);
    if (in_background) {
      saver.wait_until_copied();
      state.fill(later, 50);
    }
    saver.finish();
    State loaded(host, half, {}, ranks.world);
    train::load_state(loaded.context, checkpoint::Reader(run.saved()), loaded.storage);
    CHECK((loaded.contents() == here.contents()));
    accelerator().synchronize(state.context.stream());
  });
}

TEST_CASE("ranks on different devices have the same digests of the same state, and others of another",
          "[device]") {
  const bool differs = GENERATE(false, true);
  const test_device::Use device(1);
  std::atomic<int> refused = 0;
  on_ranks(2, [&](const comm::Ranks& ranks) {
    const bool is_first = ranks.is_root();
    State state(is_first ? host : gpu, half, {.dp = 2}, ranks.world);
    state.initialise();
    if (!is_first && differs) {
      const Tensor last = state.optimizers().back();
      float one = 1;
      kernels::copy(state.context, host_tensor(one), last.flat(last.numel() - 1, 1));
      accelerator().synchronize(state.context.stream());
    }
    try {
      train::check_same_state(ranks, spec(), state.context, state.storage);
    } catch (const comm::SharedError&) {
      ++refused;
    }
  });
  CHECK(refused == (differs ? 2 : 0));
}
