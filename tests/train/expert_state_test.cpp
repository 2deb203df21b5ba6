// Tests the state of experts, whose weights are split along two dims: what the ranks of one layout
// initialize and save, those of another load.

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <mutex>
#include <vector>

#include "checkpoint/reader.hpp"
#include "checkpoint/reshard.hpp"
#include "checkpoint/sample.hpp"
#include "comm/threads/thread_group.hpp"
#include "model/initialise.hpp"
#include "parallel/state/model_storage.hpp"
#include "support/expert_table.hpp"
#include "tensor/host_tensor.hpp"
#include "train/start/state_io.hpp"

using namespace dt;

namespace {

constexpr std::uint64_t seed = 17;

/// The state of whole parameters, as one rank without splits has it.
struct WholeState {
  explicit WholeState(const model::ParameterTable& table) {
    for (const model::ParamSpec& param : table.params()) {
      std::vector<float>& values = weights.emplace_back(static_cast<std::size_t>(param.shape.numel()));
      model::initialise(param, seed, Piece::whole(param.shape), host_tensor(values), 1);
    }
  }
  static float moment(std::size_t kind, int param, std::int64_t element) {
    const int first = 100 * static_cast<int>(kind + 1) + param;
    return static_cast<float>(first) + static_cast<float>(element) / (1 << 18);
  }
  std::vector<std::vector<float>> weights;
};

/// Calls `use` with each element of a kind of state that this rank holds, and its number in the whole
/// parameter.
template <class Use>
void for_each_element(const parallel::LocalTable& local, const parallel::LocalParam& param,
                      const Tensor& state, const Use& use) {
  if (param.owned_piece.numel() == 0 || !local.group(param.group).has_state) return;
  const Tensor view = param.view_in_shard(state);
  const auto values = view.flat(0, view.numel()).span<float>();
  for (const CopyRange& run : intersect(param.owned_piece, Piece::whole(param.piece.global))) {
    for (std::int64_t i = 0; i < run.count; ++i)
      use(values[static_cast<std::size_t>(run.source + i)], run.target + i);
  }
}

void fill(const Context& context, parallel::ModelStorage& storage) {
  const parallel::LocalTable& local = storage.local();
  for (const parallel::LocalParam& param : local.params()) {
    storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local.spec(param), seed, piece, values, 1);
    });
    const std::vector<Tensor> states = storage.group_states(param.group);
    for (std::size_t kind = 0; kind < states.size(); ++kind) {
      for_each_element(local, param, states[kind], [&](float& value, std::int64_t element) {
        value = WholeState::moment(kind, param.param, element);
      });
    }
  }
}

/// Returns how many elements of this rank's state differ in any bit from those of the whole.
int num_wrong(const parallel::ModelStorage& storage, const WholeState& whole) {
  int wrong = 0;
  const parallel::LocalTable& local = storage.local();
  for (const parallel::LocalParam& param : local.params()) {
    const auto compare = [&](const Tensor& state, const auto& expected) {
      for_each_element(local, param, state, [&](const float& value, std::int64_t element) {
        const float wanted = expected(element);
        wrong += std::memcmp(&value, &wanted, sizeof(float)) == 0 ? 0 : 1;
      });
    };
    compare(storage.group_weights(param.group), [&](std::int64_t element) {
      return whole.weights[static_cast<std::size_t>(param.param)][static_cast<std::size_t>(element)];
    });
    const std::vector<Tensor> states = storage.group_states(param.group);
    for (std::size_t kind = 0; kind < states.size(); ++kind) {
      compare(states[kind],
              [&](std::int64_t element) { return WholeState::moment(kind, param.param, element); });
    }
  }
  return wrong;
}

/// Runs `body` on each rank of a layout, with a storage for training. Returns the sum of its results.
template <class Body>
int on_ranks(const model::ParameterTable& table, const model::Layout& layout, const Body& body) {
  std::mutex mutex;
  int total = 0;
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    const Context context(1, Device::host());
    const parallel::Groups groups(layout, world);
    const parallel::LocalTable local(table, layout, layout.coordinates_of(world.rank()));
    const parallel::LanePlan lanes =
        parallel::LanePlan(layout.dp, layout.dp).of_rank(local.place().dp, layout.dp);
    parallel::ModelStorage storage(context.device(), local, parallel::Precision{}, &lanes, groups,
                                   {checkpoint::kind_first_moment, checkpoint::kind_second_moment});
    const int result = body(context, storage, world.rank());
    const std::scoped_lock lock(mutex);
    total += result;
    return 0;
  });
  return total;
}

/// Returns the pieces that a rank of a layout writes.
std::vector<checkpoint::PieceSpec> pieces_of(const model::ParameterTable& table, const model::Layout& layout,
                                             int rank) {
  const std::array<const char*, 3> kinds{checkpoint::kind_weights, checkpoint::kind_first_moment,
                                         checkpoint::kind_second_moment};
  const parallel::LocalTable local(table, layout, layout.coordinates_of(rank));
  std::vector<checkpoint::PieceSpec> pieces;
  for (const parallel::OwnedPiece& own : parallel::owned_pieces(local, std::array<std::size_t, 3>{4, 4, 4}))
    pieces.push_back({local.name(own.param), kinds[static_cast<std::size_t>(own.kind)], own.piece});
  return pieces;
}

}  // namespace

TEST_CASE("the state of divided experts loads into any other division, also once it is resharded") {
  const std::array layouts{model::Layout{}, model::Layout{.dp = 4, .tp = 2, .ep = 2},
                           model::Layout{.dp = 4, .tp = 2, .zero = 1, .ep = 2},
                           model::Layout{.dp = 2, .zero = 3, .cp = 2, .ep = 4}};
  const model::Layout& source = layouts[GENERATE(range(std::size_t{0}, std::size_t{4}))];
  const model::Layout& target = layouts[GENERATE(range(std::size_t{0}, std::size_t{4}))];
  CAPTURE(source.to_string(), target.to_string());
  const model::ParameterTable table = dt_test::expert_table();
  const WholeState whole(table);
  const checkpoint::test::TempFolder folder;
  const checkpoint::Manifest manifest = checkpoint::test::sample_manifest();
  checkpoint::CheckpointTransaction unfinished(folder.path(), manifest.state.step, manifest.generation);
  const int wrong = on_ranks(table, source, [&](const Context& context, auto& storage, int rank) {
    fill(context, storage);
    checkpoint::write_shard(unfinished.path(), manifest, rank, train::state_pieces(storage));
    return num_wrong(storage, whole);
  });
  CHECK(wrong == 0);  // each rank's weights are those of a whole initialization
  const checkpoint::Reader saved(unfinished.commit(manifest, source.size(), {.timeout_s = 0}));
  const fs::path out = folder.path() / "resharded";
  checkpoint::reshard(saved, {out, false, manifest.mesh, target.size(),
                              [&](int rank) { return pieces_of(table, target, rank); }});
  const checkpoint::Reader resharded(out);
  for (const checkpoint::Reader* reader : {&saved, &resharded}) {
    const int differing = on_ranks(table, target, [&](const Context& context, auto& storage, int) {
      train::load_state(context, *reader, storage);
      return num_wrong(storage, whole);
    });
    CHECK(differing == 0);
  }
}
