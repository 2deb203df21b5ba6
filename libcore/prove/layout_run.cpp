#include "prove/layout_run.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "comm/exchange.hpp"
#include "parallel/traffic.hpp"
#include "train/lists.hpp"
#include "train/start.hpp"
#include "train/stepper.hpp"

namespace dt::prove {

namespace {

/// Of gathers and sums that this rank took part in, and of what it sent; the decision points' own are not
/// counted.
std::int64_t recorded_bytes(comm::Communicator& group) {
  comm::Recorder& recorder = group.engine().recorder();
  return recorder.bytes(comm::OperationKind::all_gather) +
         recorder.bytes(comm::OperationKind::reduce_scatter) +
         recorder.bytes(comm::OperationKind::all_reduce) + recorder.bytes(comm::OperationKind::send);
}

/// The masters of a group that this rank holds, whole. Called by all ranks of its stage together; only ranks
/// that hold a part of them take part.
Tensor whole_masters(const parallel::ModelStorage& storage, int group, Buffer& buffer) {
  const Tensor part = storage.group_masters(group);
  const parallel::LocalGroup& local = storage.local().group(group);
  if (!local.division.divides_optimizer()) return part;
  buffer = Buffer(Device{}, static_cast<std::size_t>(local.numel) * dtype_bytes(part.dtype()));
  const Tensor whole(buffer.data(), part.dtype(), Shape{local.numel});
  storage.ranks().shards()->all_gather(part, whole, parallel::shard_granule).wait();
  return whole;
}

/// Whole masters of the parameter table's groups on rank 0, wherever their stages are, one at a time.
class Masters {
 public:
  explicit Masters(const parallel::ModelStorage& storage)
      : storage_(storage),
        stages_(model::stages_of(layout(), static_cast<int>(table().units().size()))),
        control_(storage.ranks().control()) {}

  const model::ParameterTable& table() const { return storage_.local().table(); }
  /// Called by all ranks together; none on any but rank 0. Valid until the next.
  Tensor on_first(int group) {
    const int stage =
        stages_[static_cast<std::size_t>(table().groups()[static_cast<std::size_t>(group)].owner)];
    Tensor masters;
    if (storage_.local().place().pp == stage)
      masters = whole_masters(storage_, local_index(storage_.local(), group), buffer_);
    if (stage == 0) return rank() == 0 ? masters : Tensor();
    const int owner = stage * layout().dp * layout().tp;
    if (rank() == owner) control_->send(0, masters).wait();
    return rank() == 0 ? receive(group, owner) : Tensor();
  }

 private:
  const model::Layout& layout() const { return storage_.local().layout(); }
  int rank() const { return control_ ? control_->rank() : 0; }
  static int local_index(const parallel::LocalTable& local, int group) {
    const auto found = std::find_if(local.groups().begin(), local.groups().end(),
                                    [&](const parallel::LocalGroup& g) { return g.group == group; });
    return static_cast<int>(found - local.groups().begin());
  }
  Tensor receive(int group, int owner) {
    const parallel::LocalTable there(table(), layout(), layout().place_of(owner));
    const std::int64_t numel = there.group(local_index(there, group)).numel;
    const DType dtype = storage_.precision().master();
    buffer_ = Buffer(Device{}, static_cast<std::size_t>(numel) * dtype_bytes(dtype));
    const Tensor masters(buffer_.data(), dtype, Shape{numel});
    control_->receive(owner, masters).wait();
    return masters;
  }

  const parallel::ModelStorage& storage_;
  std::vector<int> stages_;  // of each unit
  comm::Communicator* control_;
  Buffer buffer_;
};

template <class T>
void add_difference(const Tensor& values, const Tensor& reference, double& most, double& squares,
                    double& reference_squares) {
  const auto a = values.span<T>(), b = reference.span<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    if (!(std::abs(difference) <= most)) most = std::abs(difference);  // also where it is not a number
    squares += difference * difference;
    reference_squares += double{b[i]} * double{b[i]};
  }
}

WeightsDifference keep_or_compare(const parallel::ModelStorage& storage, const LayoutRequest& request) {
  WeightsDifference difference;
  double squares = 0, reference_squares = 0;
  std::uint64_t offset = 0;
  Masters masters(storage);
  for (int group = 0; group < static_cast<int>(masters.table().groups().size()); ++group) {
    const Tensor values = masters.on_first(group);
    if (!request.reference) continue;
    if (request.is_reference) {
      request.reference->write(offset, values);
    } else {
      const Buffer kept(Device{}, values.bytes());
      const Tensor expected(kept.data(), values.dtype(), values.shape());
      request.reference->read(offset, expected);
      difference.same_bits =
          difference.same_bits && std::memcmp(values.raw(), expected.raw(), values.bytes()) == 0;
      (values.dtype() == DType::f64
           ? add_difference<double>
           : add_difference<float>)(values, expected, difference.most, squares, reference_squares);
    }
    offset += values.bytes();
  }
  difference.relative = reference_squares > 0 ? std::sqrt(squares / reference_squares) : std::sqrt(squares);
  return difference;
}

/// What one step moves, by its list.
struct StepBytes {
  std::int64_t gathers = 0;
  std::int64_t sums = 0;
};

StepBytes step_bytes(const train::Plan& plan, const train::ModelRuntime& runtime) {
  const std::int64_t boundary = plan.micro_batch * plan.sequence_length * plan.spec.hidden *
                                static_cast<std::int64_t>(dtype_bytes(plan.precision.compute));
  const parallel::Traffic traffic{runtime.local(), plan.precision, boundary};
  const parallel::ActionList list = train::training_list(plan);
  const std::vector<std::int64_t> bytes = traffic.bytes_of(list);
  StepBytes total;
  for (std::size_t i = 0; i < list.size(); ++i)
    (list[i].kind == parallel::ActionKind::gather ? total.gathers : total.sums) += bytes[i];
  return total;
}

/// Makes all steps. False where a signal stopped them.
bool make_steps(const train::Plan& plan, train::Stepper& stepper, checkpoint::TrainingState& state,
                const StepBytes& each, const LayoutRequest& request, LayoutResult& result) {
  double seconds = 0;
  bool weights_changed = true;  // a skipped step leaves them as they were gathered
  while (state.step < plan.total_steps) {
    train::StepTimes times;
    const train::Decision decision =
        stepper.step([&](train::StepReport& report) { report.signal = request.stop_signal(); }, times);
    if (!decision.finite && !decision.skip) {
      throw comm::SharedError(ErrorKind::input,
                              fmt::format("step {}: the loss is not finite", state.step + 1),
                              "lower --lr or lengthen --warmup-steps");
    }
    result.losses.push_back(decision.loss);
    result.expected_bytes += each.sums + (weights_changed || plan.layout.zero == 3 ? each.gathers : 0);
    weights_changed = decision.finite;
    if (state.step > 1) seconds += times.step_s + times.data_wait_s;
    if (decision.stop) {
      result.stopped_by = decision.stop_signal;
      return false;
    }
  }
  if (seconds > 0)
    result.tokens_per_s = static_cast<double>((plan.total_steps - 1) * plan.tokens_per_step()) / seconds;
  return true;
}

std::uint64_t most_resident_bytes(comm::Communicator& group) {
  auto peak = static_cast<std::int64_t>(peak_resident_bytes());
  const Tensor most(&peak, DType::i64, Shape{1});
  group.all_reduce(most, most, comm::Reduction::max).wait();
  return static_cast<std::uint64_t>(peak);
}

}  // namespace

KeptWeights::KeptWeights() {
  std::string path = (fs::temp_directory_path() / "dt-weights-XXXXXX").string();
  file_ = ::mkstemp(path.data());
  if (file_ < 0) throw system_error(errno, "create", path);
  ::unlink(path.c_str());
}

KeptWeights::~KeptWeights() {
  ::close(file_);
}

void KeptWeights::write(std::uint64_t offset, const Tensor& values) {
  std::span<const std::byte> left = values.span_bytes();
  while (!left.empty()) {
    const ssize_t done = ::pwrite(file_, left.data(), left.size(), static_cast<off_t>(offset));
    if (done < 0)
      throw system_error(errno, "write", "the reference's weights in " + fs::temp_directory_path().string());
    left = left.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

void KeptWeights::read(std::uint64_t offset, const Tensor& values) const {
  std::span<std::byte> left = values.span_bytes();
  while (!left.empty()) {
    const ssize_t done = ::pread(file_, left.data(), left.size(), static_cast<off_t>(offset));
    if (done < 0) throw system_error(errno, "read", "the reference's weights");
    DT_CHECK(done > 0, "the reference has fewer weights");
    left = left.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
}

LayoutResult run_layout(const train::Plan& plan, const train::Settings& settings,
                        const data::TokenDataset& dataset, const comm::Ranks& ranks,
                        const LayoutRequest& request) {
  comm::Communicator& world = ranks.world;
  reset_peak_resident();
  world.barrier().wait();
  world.set_bucket_bytes(plan.comm_bucket_bytes);
  const auto groups = train::make_groups(plan, world);
  std::unique_ptr<train::ModelRuntime> runtime;
  comm::together(world, [&] {
    runtime = std::make_unique<train::ModelRuntime>(plan, train::ModelRuntime::Purpose::training, *groups);
    train::fill_weights(*runtime, settings, plan);
  });
  checkpoint::TrainingState state = train::initial_state(plan, dataset);
  train::Stepper stepper(plan, *runtime, dataset, state, world);
  LayoutResult result;
  const std::int64_t bytes_before = recorded_bytes(world);
  const StepBytes each = step_bytes(plan, *runtime);
  if (!make_steps(plan, stepper, state, each, request, result)) return result;
  const std::int64_t control_bytes = world.size() > 1 ? train::StepReport::bytes() * plan.total_steps : 0;
  result.moved_bytes = recorded_bytes(world) - bytes_before - control_bytes;
  result.data_digest = state.data_digest;
  result.storage = runtime->storage().bytes();
  result.peak_bytes = most_resident_bytes(world);
  result.weights = keep_or_compare(runtime->storage(), request);
  return result;
}

}  // namespace dt::prove
