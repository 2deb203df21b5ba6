#include "model/seam.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::model {

std::int64_t Share::local_rows(std::int64_t rows) const {
  DT_CHECK(rows % row_ranks() == 0, "{} rows over {} ranks", rows, size);
  return rows / row_ranks();
}

Tensor Share::local(const Tensor& full_R) const {
  const std::int64_t count = local_rows(full_R.dim(0));
  return divides_rows ? full_R.rows(rank * count, (rank + 1) * count) : full_R;
}

ModelSpec share_of(const ModelSpec& spec, const Share& share) {
  ModelSpec own = spec;
  own.query_heads = spec.query_heads / share.size;
  own.key_value_heads = std::max<std::int64_t>(1, spec.key_value_heads / share.size);
  own.mlp_hidden = part_of(share.rank, share.size, spec.mlp_hidden).count;
  return own;
}

ExchangeHandle Seam::start_sum(const Tensor& partial, const Tensor& local) const {
  DT_CHECK(share_.is_whole() && partial.raw() == local.raw(), "nobody to add up with");
  return {};
}
ExchangeHandle Seam::start_gather(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "nobody to gather rows from");
  return {};
}
ExchangeHandle Seam::start_gather_each(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "nobody to gather from");
  return {};
}

ExchangeHandle Seam::start_shift(const Tensor&, const Tensor&) const {
  DT_CHECK(false, "nobody to pass anything on to");
  return {};
}

const Seam& no_seam() {
  static const Seam seam;
  return seam;
}

}  // namespace dt::model
