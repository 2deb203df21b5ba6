#include "model/initialise.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/random.hpp"

namespace dt::model {

namespace {

/// Computes values = std · normal(first, first + 1, ...), as fp32.
void fill(const RandomField& field, double std, std::uint64_t first, std::span<float> values) {
  field.fill_normal(first, 0.0, std, values);
}
void fill(const RandomField& field, double std, std::uint64_t first, std::span<double> values) {
  std::vector<float> rounded(values.size());
  field.fill_normal(first, 0.0, std, rounded);
  std::copy(rounded.begin(), rounded.end(), values.begin());
}

/// Fills elements [begin, end) of the piece's buffer. `runs` cover the buffer in its order.
template <class T>
void fill_normal(const RandomField& field, double std, std::span<const CopyRange> runs, std::int64_t begin,
                 std::int64_t end, std::span<T> values) {
  constexpr std::int64_t chunk = 1 << 16;  // bounds the fp32 copy of fp64 values
  auto run = std::partition_point(runs.begin(), runs.end(),
                                  [begin](const CopyRange& r) { return r.target + r.count <= begin; });
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t in_run = at - run->target;
    const std::int64_t count = std::min({run->count - in_run, end - at, chunk});
    fill(field, std, static_cast<std::uint64_t>(run->source + in_run),
         values.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
    at += count;
    if (at == run->target + run->count) ++run;
  }
}

template <class T>
void initialise_as(const ParamSpec& param, std::uint64_t seed, const Piece& piece, std::span<T> values,
                   int threads, double factor) {
  if (param.init.kind != Init::Kind::normal) {
    const double value = param.init.kind == Init::Kind::ones ? factor : 0;
    std::fill(values.begin(), values.end(), static_cast<T>(static_cast<float>(value)));
    return;
  }
  const RandomField field(seed, param.name);
  const std::vector<CopyRange> runs = intersect(Piece::whole(param.shape), piece);
  const auto part = [&](std::int64_t i, std::int64_t parts) {
    fill_normal<T>(field, param.init.std * factor, runs, piece.numel() * i / parts,
                   piece.numel() * (i + 1) / parts, values);
  };
  constexpr std::int64_t worth_a_thread = 1 << 14;
  const std::int64_t parts =
      std::clamp<std::int64_t>(piece.numel() / worth_a_thread, 1, std::max(threads, 1));
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < parts; ++i) helpers.emplace_back(part, i, parts);
  part(0, parts);
}

}  // namespace

void initialise(const ParamSpec& param, std::uint64_t seed, const Piece& piece, const Tensor& values,
                int threads, double factor) {
  piece.validate();
  DT_CHECK(piece.global == param.shape, "a piece of {} for {} {}", piece.global.to_string(), param.name,
           param.shape.to_string());
  DT_CHECK(piece.numel() == values.numel(), "{} elements for a piece of {}", values.numel(), piece.numel());
  if (values.dtype() == DType::f64)
    initialise_as(param, seed, piece, values.span<double>(), threads, factor);
  else
    initialise_as(param, seed, piece, values.span<float>(), threads, factor);
}

}  // namespace dt::model
