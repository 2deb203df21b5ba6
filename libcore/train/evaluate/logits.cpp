#include "train/evaluate/logits.hpp"

#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/hdf5/hdf5_file.hpp"
#include "base/io/atomic_files.hpp"
#include "base/io/permissions.hpp"
#include "comm/exchange.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/loader.hpp"
#include "kernels/elementwise.hpp"
#include "model/layers/ring_attention.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "train/evaluate/validation_windows.hpp"
#include "train/evaluate/window_batches.hpp"

namespace dt::train {

namespace {

struct OwnedTensor {
  OwnedTensor(Device device, const Shape& shape, DType dtype)
      : buffer(device, storage_bytes(dtype, shape.numel())), tensor(buffer, dtype, shape) {}
  Buffer buffer;
  Tensor tensor;
};

/// The logits of a sequence. Ranks that share the head have some columns each; context-parallel
/// ranks have some rows.
class Logits {
 public:
  /// Collective: all ranks that hold the head.
  Logits(ModelRuntime& runtime, std::int64_t sequence_length)
      : tensor_(runtime.storage().ranks().tensor()),
        context_ranks_(runtime.storage().ranks().context()),
        vocabulary_(runtime.spec().vocabulary),
        zigzag_{sequence_length / (model::Zigzag::num_chunks * size(context_ranks_)), rank(context_ranks_),
                size(context_ranks_)},
        rows_(sequence_length / size(context_ranks_)),
        dtype_(runtime.storage().precision().compute),
        own_(runtime.context().device(), {rows_, columns_of(runtime.spec(), rank(tensor_)).count}, dtype_),
        rows_TV_(runtime.context().device(), {rows_, vocabulary_}, DType::f32) {
    for (int other = 0; other < size(tensor_); ++other) columns_.push_back(columns_of(runtime.spec(), other));
  }

  /// Returns the tensor to which the head writes this rank's columns of its rows.
  const Tensor& own() const { return own_.tensor; }
  /// Gathers all logits into whole_TV, fp32 on the host, on the first of the ranks.
  /// Collective: all ranks that hold the head.
  void gather(const Context& context, const Tensor& whole_TV) {
    gather_columns(context);
    if (rank(tensor_) > 0) return;
    if (rank(context_ranks_) > 0) return context_ranks_->send(0, rows_TV_.tensor).wait_host();
    place_rows(context, 0, rows_TV_.tensor, whole_TV);
    for (int other = 1; other < size(context_ranks_); ++other) {
      context_ranks_->receive(other, rows_TV_.tensor).wait_host();
      place_rows(context, other, rows_TV_.tensor, whole_TV);
    }
  }

 private:
  static int rank(const comm::Communicator* ranks) { return ranks ? ranks->rank() : 0; }
  static int size(const comm::Communicator* ranks) { return ranks ? ranks->size() : 1; }
  Range columns_of(const model::ModelSpec& spec, int rank) const {
    return model::TensorParallelShard{rank, size(tensor_)}.vocabulary_range(spec);
  }
  void gather_columns(const Context& context) {
    if (rank(tensor_) > 0) return tensor_->send(0, own_.tensor).wait_host();
    place_columns(context, own_.tensor, columns_[0]);
    for (int other = 1; other < size(tensor_); ++other) {
      const Range columns = columns_[static_cast<std::size_t>(other)];
      const OwnedTensor arrived(context.device(), {rows_, columns.count}, dtype_);
      tensor_->receive(other, arrived.tensor).wait_host();
      place_columns(context, arrived.tensor, columns);
    }
  }
  void place_columns(const Context& context, const Tensor& part, const Range& columns) const {
    for (std::int64_t row = 0; row < rows_; ++row)
      kernels::cast(context, part.flat(row * columns.count, columns.count),
                    rows_TV_.tensor.flat(row * vocabulary_ + columns.begin, columns.count));
  }
  void place_rows(const Context& context, int owner, const Tensor& rows, const Tensor& whole_TV) const {
    const bool is_whole = size(context_ranks_) == 1;
    const model::Zigzag zigzag{zigzag_.length, owner, zigzag_.size};
    context.synchronize();  // a copy to memory that is not pinned may itself block
    if (is_whole) kernels::copy(context, rows, whole_TV);
    for (int chunk = 0; !is_whole && chunk < model::Zigzag::num_chunks; ++chunk) {
      const std::int64_t to = zigzag.position(chunk), from = chunk * zigzag.length;
      kernels::copy(context, rows.rows(from, from + zigzag.length), whole_TV.rows(to, to + zigzag.length));
    }
    context.synchronize();  // the next rank's rows come to the same place
  }

  comm::Communicator* tensor_;
  comm::Communicator* context_ranks_;
  std::int64_t vocabulary_;
  model::Zigzag zigzag_;
  std::int64_t rows_;
  DType dtype_;
  std::vector<Range> columns_;  // columns of each rank that shares the head
  OwnedTensor own_, rows_TV_;
};

/// A file of the fp32 logits and int32 tokens of a number of sequences. It appears only when it is
/// complete.
class LogitsFile {
 public:
  LogitsFile(ModelRuntime& runtime, std::int64_t sequence_length, std::int64_t num_sequences,
             const data::Mixture& dataset, const std::filesystem::path& file)
      : target_(file),
        writer_(target_.open()),
        floats_(Device::host(), {sequence_length, runtime.spec().vocabulary}, DType::f32) {
    for (std::size_t i = 0; i < dataset.size(); ++i)
      restrict_readers(target_.path(),
                       ReadAccess::of_file(dataset.source(i).folder() / data::dataset_file_name));
    const auto n = static_cast<std::uint64_t>(num_sequences);
    const auto length = static_cast<std::uint64_t>(sequence_length);
    writer_.declare("/logits", DType::f32,
                    {n, length, static_cast<std::uint64_t>(runtime.spec().vocabulary)});
    writer_.declare("/tokens", DType::i32, {n, length});
    writer_.end_declarations();
  }

  /// Returns the tensor for a sequence's logits.
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
  OwnedTensor floats_;
};

}  // namespace

void write_logits(ModelRuntime& runtime, const data::Mixture& dataset, const EvaluationRequest& request,
                  std::int64_t num_sequences, const std::filesystem::path& file, const comm::Ranks& ranks) {
  const parallel::LocalTable& local = runtime.local();
  const bool computes = local.place().dp == 0, writes = computes && local.counts_targets(),
             has_head = computes && local.holds(runtime.num_units() - 1);
  std::optional<LogitsFile> target;
  std::optional<Logits> logits;
  comm::run_collectively(ranks.world, [&] {
    const std::uint64_t available = data::num_validation_windows(dataset, request.sequence_length);
    if (static_cast<std::uint64_t>(num_sequences) > available) {
      throw Error(ErrorKind::input,
                  fmt::format("--logits-sequences {} exceeds the {} windows of the validation split",
                              num_sequences, available),
                  fmt::format("use at most --logits-sequences {}", available));
    }
    if (has_head) logits.emplace(runtime, request.sequence_length);
    if (writes) target.emplace(runtime, request.sequence_length, num_sequences, dataset, file);
  });
  const ValidationWindows windows(dataset, request.sequence_length, 1,
                                  static_cast<std::uint64_t>(num_sequences));
  std::vector<std::int64_t> targets(dataset.size());
  for (std::int64_t i = 0; i < num_sequences; ++i) {
    WindowBatches window;
    if (computes) {
      window.add(runtime, dataset, request, windows.micro_batch(i), targets);
      if (has_head) window.micro_batches.front().logits_RV = logits->own();
      forward(runtime, window, 1, {});
      if (has_head) logits->gather(runtime.context(), writes ? target->logits() : Tensor());
    }
    comm::run_collectively(ranks.world, [&] {
      if (!writes) return;
      const ValidationWindows::SourceWindows own = windows.micro_batch(i);
      const data::Batch batch =
          data::validation_batch(dataset.source(own.source), request.sequence_length, own.first, 1);
      target->write(static_cast<std::uint64_t>(i), batch.tokens_BT);
    });
  }
  comm::run_collectively(ranks.world, [&] {
    if (writes) target->commit();
  });
}

}  // namespace dt::train
