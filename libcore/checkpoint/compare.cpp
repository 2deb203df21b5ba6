#include "checkpoint/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/numeric/digest.hpp"
#include "checkpoint/elements.hpp"

namespace dt::checkpoint {

namespace {

using Outcome = TensorComparison::Outcome;

class Comparison {
 public:
  Comparison(const Reader& a, const Reader& b) : a_(a), b_(b) {}

  TensorComparison run(const StoredTensor& a, const StoredTensor& b) {
    equal_ = true;
    max_abs_ = difference_ = norm_ = 0;
    const auto block = static_cast<std::int64_t>(digest_block_bytes / sizeof(double));
    Piece piece = Piece::whole(a.global);
    const std::int64_t numel = piece.end;
    for (std::int64_t begin = 0; begin < numel; begin += block) {
      piece.begin = begin;
      piece.end = std::min(begin + block, numel);
      add_block(a, b, piece);
    }
    TensorComparison result{a.kind, a.tensor, equal_ ? Outcome::equal : Outcome::differs, max_abs_, 0};
    if (a.dtype != b.dtype) result.outcome = Outcome::other_dtype;
    result.relative_norm = difference_ == 0 ? 0 : std::sqrt(difference_) / std::sqrt(norm_);
    return result;
  }

 private:
  void add_block(const StoredTensor& a, const StoredTensor& b, const Piece& piece) {
    load(a_, a, piece, bytes_a_);
    load(b_, b, piece, bytes_b_);
    if (a.dtype == b.dtype && bytes_a_ == bytes_b_) {
      add_norm(as_doubles(a.dtype, bytes_a_, values_a_));
      return;
    }
    equal_ = false;
    const std::vector<double>& x = as_doubles(a.dtype, bytes_a_, values_a_);
    const std::vector<double>& y = as_doubles(b.dtype, bytes_b_, values_b_);
    add_norm(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
      const double d = same ? 0 : std::abs(x[i] - y[i]);
      difference_ += d * d;
      if (std::isnan(d) || d > max_abs_) max_abs_ = d;
    }
  }

  static void load(const Reader& reader, const StoredTensor& tensor, const Piece& piece,
                   std::vector<std::byte>& bytes) {
    bytes.resize(storage_bytes(tensor.dtype, piece.numel()));
    reader.read(tensor.kind, tensor.tensor, piece,
                Tensor(bytes.data(), tensor.dtype, Shape{piece.numel()}, Device::host()));
  }

  static const std::vector<double>& as_doubles(DType dtype, const std::vector<std::byte>& bytes,
                                               std::vector<double>& values) {
    values.resize(bytes.size() / dtype_bytes(dtype));
    copy_elements(dtype, bytes.data(), DType::f64, reinterpret_cast<std::byte*>(values.data()),
                  static_cast<std::int64_t>(values.size()));
    return values;
  }

  void add_norm(const std::vector<double>& values) {
    for (const double value : values) norm_ += value * value;
  }

  const Reader& a_;
  const Reader& b_;
  bool equal_ = true;
  double max_abs_ = 0;
  double difference_ = 0;
  double norm_ = 0;
  std::vector<std::byte> bytes_a_;
  std::vector<std::byte> bytes_b_;
  std::vector<double> values_a_;
  std::vector<double> values_b_;
};

}  // namespace

void compare(const Reader& a, const Reader& b, const std::function<void(const TensorComparison&)>& found,
             const std::function<void(std::uint64_t)>& done) {
  const PieceIndex &in_a = a.pieces(), &in_b = b.pieces();
  in_a.check();
  in_b.check();
  Comparison comparison(a, b);
  const auto tell = [&](const TensorComparison& result, std::uint64_t bytes) {
    found(result);
    if (done) done(bytes);
  };
  for (const StoredTensor& tensor : in_a.tensors()) {
    const StoredTensor* other = in_b.find(tensor.kind, tensor.tensor);
    if (other == nullptr) {
      tell({tensor.kind, tensor.tensor, Outcome::only_in_a, 0, 0}, tensor.payload_bytes);
    } else if (other->global != tensor.global) {
      tell({tensor.kind, tensor.tensor, Outcome::other_shape, 0, 0},
           tensor.payload_bytes + other->payload_bytes);
    } else {
      tell(comparison.run(tensor, *other), tensor.payload_bytes + other->payload_bytes);
    }
  }
  for (const StoredTensor& tensor : in_b.tensors()) {
    if (in_a.find(tensor.kind, tensor.tensor) == nullptr)
      tell({tensor.kind, tensor.tensor, Outcome::only_in_b, 0, 0}, tensor.payload_bytes);
  }
}

}  // namespace dt::checkpoint
