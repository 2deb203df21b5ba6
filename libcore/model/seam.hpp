#pragma once
// Where tensor parallelism cuts a layer, or context parallelism a sequence: what the layer asks of the ranks
// that share it, without knowing them. Matrices are cut in pairs (Shoeybi et al. 2019, section 3): the first
// by columns, so that each rank has some of the features that it makes, the second by rows, so that the
// ranks' outputs add up. Legend: R rows of a micro-batch, L those that this rank has where nothing is cut: R
// ÷ ranks with sequence parallelism (Korthikanti et al. 2022, section 4.2.2), else all of them.

#include <cstdint>
#include <memory>

#include "model/model_spec.hpp"
#include "tensor/context.hpp"
#include "tensor/part.hpp"
#include "tensor/tensor.hpp"

namespace dt::model {

/// Which part of each layer is this rank's.
struct Share {
  int rank = 0;
  int size = 1;
  bool divides_rows = false;  // sequence parallelism
  /// Context parallelism: of the ranks that divide each sequence; rows are then those of a rank's part.
  int context_rank = 0;
  int context_size = 1;

  bool is_whole() const { return size == 1; }
  /// How many ranks' rows all rows are.
  int row_ranks() const { return divides_rows ? size : 1; }
  /// L. Error{internal}: ranks do not divide them.
  std::int64_t local_rows(std::int64_t rows) const;
  /// Of a tensor of R, the L that are this rank's.
  Tensor local(const Tensor& full_R) const;
  /// The rows of a table, or of the head's matrix: as even as can be.
  Part vocabulary(const ModelSpec& spec) const { return part_of(rank, size, spec.vocabulary); }
};

/// The part of every block that is this rank's, as a model of its own: heads, and the MLP's features. With
/// fewer key-value heads than ranks, several hold the same. The vocabulary stays.
ModelSpec share_of(const ModelSpec& spec, const Share& share);

/// What ranks exchange, once started; its tensors must stay until it has been waited for.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// What is computed with this context from now on comes after it.
  virtual void wait(const Context& context) = 0;
};
/// Absent: there was nothing to exchange.
using ExchangeHandle = std::unique_ptr<Exchange>;
inline void wait(const Context& context, const ExchangeHandle& exchange) {
  if (exchange) exchange->wait(context);
}

/// This one serves whole layers, whose sum is what they have, and arithmetic without ranks; where layers are
/// cut, `parallel` has the one that talks. All ranks that share the layers start the same in the same order.
class Seam {
 public:
  explicit Seam(Share share = {}) : share_(share) {}
  virtual ~Seam() = default;
  const Share& share() const { return share_; }

  /// Σ over the ranks of what each has of all rows, [R, …]: of it the rows that are this rank's, [L, …]. The
  /// two may be one tensor where L is R.
  virtual ExchangeHandle start_sum(const Tensor& partial_RC, const Tensor& local_LC) const;
  /// full = the rows of all ranks in their order, each [L, …]; where rows are divided.
  virtual ExchangeHandle start_gather(const Tensor& local_LC, const Tensor& full_RC) const;
  /// all[i] = what rank i has.
  virtual ExchangeHandle start_gather_each(const Tensor& own, const Tensor& all) const;

  /// Among the ranks that divide each sequence: `own` goes to the next one, `arriving` comes from the one
  /// before.
  virtual ExchangeHandle start_shift(const Tensor& own, const Tensor& arriving) const;

  /// In how many chunks of rows products are exchanged, each while another is multiplied.
  virtual int num_chunks() const { return 1; }

 private:
  Share share_;
};

/// What whole layers are made with.
const Seam& no_seam();

}  // namespace dt::model
