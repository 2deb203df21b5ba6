#include "train/evaluation.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/exact_sum.hpp"
#include "base/files.hpp"
#include "base/hdf5_file.hpp"
#include "comm/exchange.hpp"
#include "kernels/elementwise.hpp"
#include "model/seam.hpp"
#include "tensor/host_tensor.hpp"
#include "train/lists.hpp"
#include "train/reporter.hpp"

namespace dt::train {

namespace {

/// Micro-batches that a pipeline has under way between two looks at signals: enough to keep its stages busy.
std::int64_t rounds_at_a_time(const model::Layout& layout) {
  return layout.pp > 1 ? 4 * layout.pp : 1;
}

/// Validation windows in micro-batches, which must not be more than the request's.
struct Windows {
  std::vector<data::Batch> batches;
  std::vector<model::MicroBatch> micro_batches;

  void add(const ModelRuntime& runtime, const data::TokenDataset& dataset, const EvaluationRequest& request,
           std::uint64_t first, std::int64_t count) {
    batches.push_back(
        data::validation_batch(dataset, request.sequence_length, first, count, request.mask_documents));
    micro_batches.push_back(runtime.micro_batches(batches.back(), count).front());
  }
};

/// Their forwards, where some rank has `rounds` micro-batches.
void forward(ModelRuntime& runtime, const Windows& windows, std::int64_t rounds,
             const parallel::StepHooks& hooks) {
  const parallel::LocalTable& local = runtime.local();
  runtime.executor().run(
      evaluation_list(local.layout(), local.place(), runtime.num_units(),
                      static_cast<int>(windows.micro_batches.size()), static_cast<int>(rounds)),
      windows.micro_batches, 0, hooks);
}

/// How many the request takes. Error{input}: there is none.
std::uint64_t num_windows(const data::TokenDataset& dataset, const EvaluationRequest& request) {
  const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
  const std::uint64_t windows = std::min(available, request.max_windows.value_or(available));
  if (windows > 0) return windows;
  throw comm::SharedError(
      ErrorKind::input,
      fmt::format("the validation split of {} has {} tokens, fewer than one window of {}",
                  dataset.folder().string(), dataset.split(data::Split::validation).tokens,
                  request.sequence_length + 1),
      "shard the data with a larger --val-fraction");
}

}  // namespace

Evaluation evaluate(ModelRuntime& runtime, const data::TokenDataset& dataset,
                    const EvaluationRequest& request, const comm::Ranks& ranks) {
  comm::Communicator& control = ranks.world;
  const std::uint64_t windows = num_windows(dataset, request);
  const auto micro_batch = static_cast<std::uint64_t>(request.micro_batch);
  // Whole micro-batches are divided, so that each window is computed in the same company whatever the ranks.
  const auto micro_batches = static_cast<std::int64_t>((windows + micro_batch - 1) / micro_batch);
  const parallel::LocalTable& local = runtime.local();
  const int dp = local.layout().dp;
  const Part own = part_of(local.place().dp, dp, micro_batches);
  const std::int64_t rounds = (micro_batches + dp - 1) / dp;
  ExactSum nll;
  parallel::StepHooks hooks;
  if (local.counts_loss()) hooks.loss = [&](int, const Tensor& nll_R) { nll.add(nll_R.span<double>()); };
  Progress progress = ranks.console.progress("evaluating", windows, "windows");
  const std::int64_t at_a_time = rounds_at_a_time(local.layout());
  for (std::int64_t round = 0; round < rounds; round += at_a_time) {
    std::int64_t signal = request.stop_signal ? request.stop_signal() : 0;
    const Tensor shared = host_tensor(signal);
    control.all_reduce(shared, shared, comm::Reduction::max).wait_host();
    if (signal != 0) return {.stopped_by = static_cast<int>(signal)};
    const std::int64_t end = std::min(rounds, round + at_a_time);
    Windows part;  // may be empty: the others may need this rank's part of the weights
    for (std::int64_t i = round; i < std::min(end, own.count); ++i) {
      const std::uint64_t first = static_cast<std::uint64_t>(own.begin + i) * micro_batch;
      part.add(runtime, dataset, request, first,
               static_cast<std::int64_t>(std::min(micro_batch, windows - first)));
    }
    forward(runtime, part, end - round, hooks);
    progress.set(std::min(windows, static_cast<std::uint64_t>(end * dp) * micro_batch));
  }
  comm::all_sum(control, nll.digits());
  const std::uint64_t tokens = windows * static_cast<std::uint64_t>(request.sequence_length);
  return {.loss = nll.value() / static_cast<double>(tokens), .tokens = tokens};
}

bool is_evaluation_due(const Settings& settings, const Plan& plan, const data::TokenDataset& dataset,
                       std::int64_t step) {
  if (data::num_validation_windows(dataset, plan.sequence_length) == 0) return false;
  return step >= plan.total_steps || (settings.eval_every > 0 && step % settings.eval_every == 0);
}

bool is_evaluation_missing(const Settings& settings, const Plan& plan, const data::TokenDataset& dataset,
                           const run::RunDirectory& run, std::int64_t step) {
  return is_evaluation_due(settings, plan, dataset, step) &&
         !has_evaluation(run.path() / "metrics.jsonl", step);
}

namespace {

struct Owned {
  Owned(Device device, const Shape& shape, DType dtype)
      : buffer(device, static_cast<std::size_t>(shape.numel()) * dtype_bytes(dtype)),
        tensor(buffer, dtype, shape) {}
  Buffer buffer;
  Tensor tensor;
};

/// A sequence's logits, of which ranks that share the head have some columns each.
class Logits {
 public:
  /// By all that share it.
  Logits(ModelRuntime& runtime, std::int64_t sequence_length)
      : tensor_(runtime.storage().ranks().tensor()),
        spec_(runtime.spec()),
        length_(sequence_length),
        dtype_(runtime.storage().precision().compute),
        own_(runtime.context().device(), {length_, columns_of(rank()).count}, dtype_) {}

  /// Where the head leaves this rank's columns.
  const Tensor& own() const { return own_.tensor; }
  /// Called by all that share the head. On the first of them: the columns of all into whole_TV, fp32.
  void gather(const Context& context, const Tensor& whole_TV) {
    if (rank() > 0) return tensor_->send(0, own_.tensor).wait_host();
    place(context, own_.tensor, columns_of(0), whole_TV);
    for (int other = 1; other < size(); ++other) {
      const Part columns = columns_of(other);
      const Owned arrived(context.device(), {length_, columns.count}, dtype_);
      tensor_->receive(other, arrived.tensor).wait_host();
      place(context, arrived.tensor, columns, whole_TV);
    }
  }

 private:
  int rank() const { return tensor_ ? tensor_->rank() : 0; }
  int size() const { return tensor_ ? tensor_->size() : 1; }
  Part columns_of(int rank) const { return model::Share{rank, size()}.vocabulary(spec_); }
  void place(const Context& context, const Tensor& part, const Part& columns, const Tensor& whole_TV) const {
    for (std::int64_t row = 0; row < length_; ++row)
      kernels::convert(context, part.rows(row, row + 1).flat(0, columns.count),
                       whole_TV.flat(row * spec_.vocabulary + columns.begin, columns.count));
  }

  comm::Communicator* tensor_;
  const model::ModelSpec& spec_;
  std::int64_t length_;
  DType dtype_;
  Owned own_;
};

/// fp32 logits and int32 tokens of so many sequences, which appear under their name only when whole.
class LogitsFile {
 public:
  LogitsFile(ModelRuntime& runtime, std::int64_t sequence_length, std::int64_t num_sequences,
             const std::filesystem::path& file)
      : target_(file),
        writer_(target_.path()),
        floats_(runtime.context().device(), {sequence_length, runtime.spec().vocabulary}, DType::f32) {
    const auto n = static_cast<std::uint64_t>(num_sequences);
    const auto length = static_cast<std::uint64_t>(sequence_length);
    writer_.declare("/logits", DType::f32,
                    {n, length, static_cast<std::uint64_t>(runtime.spec().vocabulary)});
    writer_.declare("/tokens", DType::i32, {n, length});
    writer_.layout();
  }

  /// Where a sequence's logits go.
  const Tensor& logits() const { return floats_.tensor; }
  void write(std::uint64_t sequence, std::span<const std::int32_t> tokens) {
    writer_.write("/tokens", sequence * tokens.size_bytes(), std::as_bytes(tokens));
    writer_.write("/logits", sequence * floats_.tensor.bytes(), floats_.tensor.span_bytes());
  }
  void commit() {
    writer_.close();
    target_.commit(/*overwrite=*/true);
  }

 private:
  AtomicFile target_;
  Hdf5Writer writer_;
  Owned floats_;
};

}  // namespace

void write_logits(ModelRuntime& runtime, const data::TokenDataset& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks) {
  const parallel::LocalTable& local = runtime.local();
  const bool computes = local.place().dp == 0, writes = computes && local.counts_loss(),
             has_head = computes && local.holds(runtime.num_units() - 1);
  std::optional<LogitsFile> target;
  std::optional<Logits> logits;
  comm::together(ranks.world, [&] {
    const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
    if (static_cast<std::uint64_t>(num_sequences) > available) {
      throw input_error("--logits-sequences {} exceeds the {} windows of the validation split", num_sequences,
                        available);
    }
    if (has_head) logits.emplace(runtime, request.sequence_length);
    if (writes) target.emplace(runtime, request.sequence_length, num_sequences, file);
  });
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(num_sequences); ++i) {
    Windows window;
    if (computes) {
      window.add(runtime, dataset, request, i, 1);
      if (has_head) window.micro_batches.front().logits_RV = logits->own();
      forward(runtime, window, 1, {});
      if (has_head) logits->gather(runtime.context(), writes ? target->logits() : Tensor());
    }
    comm::together(ranks.world, [&] {
      if (writes) target->write(i, window.batches.front().tokens_BT);
    });
  }
  comm::together(ranks.world, [&] {
    if (writes) target->commit();
  });
}

}  // namespace dt::train
