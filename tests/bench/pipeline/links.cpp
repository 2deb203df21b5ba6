#include <fmt/format.h>
#include <vector>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "bench/pipeline/rows.hpp"
#include "bench/pipeline/timed.hpp"
#include "comm/mpi/world.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::bench {

namespace {

constexpr Seconds seconds{2.5e-3, 2.5e-3, 2.5e-3};
/// Messages of 2 MiB between stages.
constexpr Setting setting{.layout = {.pp = 4}, .hidden = 64, .sequence = 8192};

/// Returns the time of a message between two neighbours; messages go one after the other.
double message_s(comm::Communicator& world) {
  constexpr int count = 16;
  std::vector<float> values(static_cast<std::size_t>(setting.hidden * setting.sequence));
  const Tensor message = host_tensor(values);
  double took_s = 0;
  world.barrier().wait_host();
  const double began_s = monotonic_s();
  for (int i = 0; i < count && world.rank() < 2; ++i)
    (world.rank() == 0 ? world.send(1, message) : world.receive(0, message)).wait_host();
  if (world.rank() == 1) took_s = (monotonic_s() - began_s) / count;
  const Tensor cell = host_tensor(took_s);
  world.broadcast(cell, 1).wait_host();
  return took_s;
}

}  // namespace

void report_links() {
  comm::mpi::World mpi;
  comm::Communicator& world = mpi.communicator();
  if (world.size() != setting.layout.pp) throw usage_error("links needs {} ranks", setting.layout.pp);
  const double send_s = message_s(world), step_s = timed_step_s(setting, seconds, world);
  if (world.rank() != 0) return;
  const double walked_s = walked_step_s(setting, seconds, send_s);
  const double free_s = walked_step_s(setting, seconds, 0);
  const double megabytes = static_cast<double>(setting.hidden * setting.sequence) * 4e-6;
  fmt::print(
      "1F1B of 4 ranks, 16 micro-batches, 16 units a rank of {:.1f} ms, messages of {:.1f} MB in {:.1f} ms "
      "({:.0f} MB/s)\n",
      seconds.sum() * 1e3, megabytes, send_s * 1e3, megabytes / send_s);
  fmt::print(
      "  step               {:.3f} s\n  walk of the lists  {:.3f} s; {:.3f} s were messages for nothing\n",
      step_s, walked_s, free_s);
  fmt::print("  step ÷ walk        {:.3f} (within 0.10 of 1)\n", step_s / walked_s);
}

}  // namespace dt::bench
