#include "equivalence/parameter_gatherer.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "comm/threads/thread_group.hpp"
#include "device/test_device.hpp"
#include "model/initialise.hpp"

using namespace dt;

TEST_CASE("what ranks hold on devices is put together on the first one's host", "[device]") {
  const model::Layout layout = GENERATE(model::Layout{}, model::Layout{.dp = 2, .zero = 1},
                                        model::Layout{.dp = 2, .zero = 3}, model::Layout{.tp = 2});
  const Device device = GENERATE(Device::host(), Device::gpu(0));
  const model::ParameterTable table(model::load_model_spec("llama-tiny"));
  const test_device::Use use(1);
  CAPTURE(layout.dp, layout.tp, layout.zero, device.to_string());
  std::size_t num_seen = 0, num_same = 0;
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    const Context context(1, device);
    const parallel::LanePlan lanes =
        parallel::LanePlan(layout.dp, layout.dp).of_rank(layout.coordinates_of(world.rank()).dp, layout.dp);
    const parallel::Groups groups(layout, world);
    const parallel::LocalTable local(table, layout, layout.coordinates_of(world.rank()));
    parallel::ModelStorage storage(device, local, {.compute = DType::bf16}, &lanes, groups, {});
    for (const parallel::LocalParam& param : local.params()) {
      storage.set_weights(context, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local.spec(param), 7, piece, values, 1);
      });
    }
    equivalence::ParameterGatherer(context, storage, world).visit([&](const Tensor& whole) {
      const model::ParamSpec& param = table.params()[num_seen++];
      const Buffer buffer(Device::host(), whole.bytes());
      const Tensor expected(buffer, whole.dtype(), whole.shape());
      model::initialise(param, 7, Piece::whole(param.shape), expected, 1);
      if (std::memcmp(whole.raw(), expected.raw(), whole.bytes()) == 0) ++num_same;
    });
    return 0;
  });
  CHECK(num_seen == table.params().size());
  CHECK(num_same == num_seen);
}
