#include "convert/tensor_copier.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/system/signals.hpp"
#include "checkpoint/elements.hpp"

namespace dt::convert {

WriteBehind::WriteBehind() : free_(2) {
  const ScopedSignalBlock blocked;
  thread_ = std::thread([this] { work(); });
}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

WriteBehind::Buffer WriteBehind::acquire(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || error_; });
  rethrow();
  Buffer buffer = std::move(free_.back());
  free_.pop_back();
  lock.unlock();
  if (buffer.storage.size() < bytes) buffer.storage.resize(bytes);
  buffer.bytes = std::span(buffer.storage).first(bytes);
  return buffer;
}

void WriteBehind::submit(Buffer buffer, Write write) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;  // a write has failed since acquire()
    jobs_.push_back({std::move(buffer), std::move(write)});
  }
  changed_.notify_all();
}

void WriteBehind::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return (jobs_.empty() && !busy_) || error_; });
  rethrow();
}

void WriteBehind::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !jobs_.empty() || ended_; });
    if (ended_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    std::exception_ptr error;
    try {
      job.write(job.buffer.bytes);
    } catch (...) {
      error = std::current_exception();
    }
    job.write = {};
    lock.lock();
    busy_ = false;
    free_.push_back(std::move(job.buffer));
    if (error && !error_) {
      error_ = error;
      jobs_.clear();
    }
    changed_.notify_all();
  }
}

namespace {

// Slabs do not end where blocks do, so a block at their border is read twice. Larger slabs have fewer
// borders.
constexpr std::size_t slab_bytes = std::size_t{32} << 20;

/// Sets target [columns, rows] to source [rows, columns] transposed. Works in tiles, so that a loaded
/// cache line is used up.
template <class T>
void transpose(const std::byte* source, std::size_t rows, std::size_t columns, std::byte* target) {
  constexpr std::size_t tile = 32;
  for (std::size_t j0 = 0; j0 < columns; j0 += tile) {
    for (std::size_t i0 = 0; i0 < rows; i0 += tile) {
      for (std::size_t j = j0; j < std::min(j0 + tile, columns); ++j) {
        for (std::size_t i = i0; i < std::min(i0 + tile, rows); ++i)
          std::memcpy(target + (j * rows + i) * sizeof(T), source + (i * columns + j) * sizeof(T), sizeof(T));
      }
    }
  }
}

/// Calls use(Bits()) with the unsigned integer of so many bytes.
/// Errors: internal, elements of weights have no such size.
template <class Use>
void with_bits(std::size_t bytes, const Use& use) {
  switch (bytes) {
    case 8:
      return use(std::uint64_t());
    case 4:
      return use(std::uint32_t());
    case 2:
      return use(std::uint16_t());
    default:
      DT_CHECK(false, "elements of {} bytes are not supported", bytes);
  }
}

void transpose(const std::byte* source, std::size_t rows, std::size_t columns, std::size_t element_bytes,
               std::byte* target) {
  with_bits(element_bytes, [&](auto bits) { transpose<decltype(bits)>(source, rows, columns, target); });
}

/// The bits of a float type without the sign.
template <class Bits>
struct FloatBits {
  explicit FloatBits(const DTypeTraits& traits)
      : magnitude(ones(traits.exponent_bits + traits.mantissa_bits)),
        infinity(static_cast<Bits>(ones(traits.exponent_bits) << traits.mantissa_bits)) {}
  static Bits ones(int count) { return static_cast<Bits>((std::uint64_t{1} << count) - 1); }

  Bits magnitude;  // all but the sign
  Bits infinity;
};

/// Calls use(values, bits) with the elements as unsigned integers.
/// Errors: internal, they are no floats.
template <class Use>
void with_float_bits(const Tensor& values, const Use& use) {
  const DTypeTraits& traits = traits_of(values.dtype());
  DT_CHECK(is_float(values.dtype()), "{} is not a floating-point type", traits.name);
  with_bits(traits.bytes, [&]<class Bits>(Bits) {
    use(std::span(reinterpret_cast<Bits*>(values.raw()), static_cast<std::size_t>(values.numel())),
        FloatBits<Bits>(traits));
  });
}

}  // namespace

void TensorCopier::find_overflow(const std::string& kind, const std::string& tensor, const Piece& piece,
                                 const Tensor& values) {
  with_float_bits(values, [&](auto elements, auto type) {
    const auto is_infinite = [&](auto bits) { return (bits & type.magnitude) == type.infinity; };
    if (std::ranges::none_of(elements, is_infinite)) return;
    std::vector<double> stored(elements.size());  // infinities may be stored as such
    source_.read(kind, tensor, piece,
                 Tensor(reinterpret_cast<std::byte*>(stored.data()), DType::f64, Shape{piece.numel()},
                        Device::host()));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!is_infinite(elements[i]) || !std::isfinite(stored[i])) continue;
      ++overflow_.count;
      overflow_.largest = std::max(overflow_.largest, std::abs(stored[i]));
      if (clamp_) --elements[i];  // from the infinity to the largest value of that sign
    }
  });
}

void TensorCopier::finish_overflow(const std::string& tensor, const Shape& shape, DType dtype) {
  const Overflow found = std::exchange(overflow_, {});
  if (found.count == 0) return;
  if (clamp_) {
    clamped_.values += found.count;
    ++clamped_.tensors;
    return;
  }
  throw Error(
      ErrorKind::input,
      fmt::format(
          "{}: {} of {} values of {} exceed the largest {} value, {:.5g}: the largest magnitude is {:.5g}",
          source_.newest().path().string(), found.count, shape.numel(), tensor, dtype_name(dtype),
          largest_finite(dtype), found.largest),
      "choose a --dtype with a larger range (bf16 or fp32), or limit such values with --clamp");
}

void TensorCopier::copy_piece(const std::string& kind, const std::string& tensor, const Piece& piece,
                              DType dtype, WriteBehind::Write write) {
  const std::size_t bytes = storage_bytes(dtype, piece.numel());
  WriteBehind::Buffer buffer = writes_.acquire(bytes);
  const Tensor values(buffer.bytes.data(), dtype, Shape{piece.numel()}, Device::host());
  source_.read(kind, tensor, piece, values);
  if (source_.changes_values(kind, tensor, dtype)) find_overflow(kind, tensor, piece, values);
  writes_.submit(std::move(buffer), std::move(write));
  if (done_) done_(bytes);
}

void TensorCopier::copy(const std::string& kind, const std::string& tensor, const Shape& shape, DType dtype,
                        std::int64_t first, WriteAt put) {
  const std::size_t bytes = dtype_bytes(dtype);
  const Piece whole = Piece::whole(shape);
  for (const Piece& block : source_.blocks(kind, tensor, shape)) {
    copy_piece(kind, tensor, block, dtype, [=](std::span<const std::byte> values) {
      for (const CopyRange& run : intersect(block, whole)) {
        put(static_cast<std::uint64_t>(first + run.target) * bytes,
            values.subspan(static_cast<std::size_t>(run.source) * bytes,
                           static_cast<std::size_t>(run.count) * bytes));
      }
    });
  }
  finish_overflow(tensor, shape, dtype);
}

void TensorCopier::copy_transposed(const std::string& kind, const std::string& tensor, const Shape& shape,
                                   DType dtype, std::int64_t first, std::int64_t stacked, WriteAt put) {
  const std::size_t bytes = dtype_bytes(dtype);
  const std::int64_t columns = shape[1];
  const std::size_t widest =
      std::max({bytes, dtype_bytes(source_.stored_dtype(kind, tensor)), sizeof(float)});
  const std::int64_t slab =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(slab_bytes / widest) / columns);
  for (std::int64_t begin = 0; begin < shape[0]; begin += slab) {
    const auto rows = static_cast<std::size_t>(std::min(slab, shape[0] - begin));
    Piece piece = Piece::whole(shape);
    piece.begin = begin * columns;
    piece.end = piece.begin + static_cast<std::int64_t>(rows) * columns;
    copy_piece(kind, tensor, piece, dtype, [=, this](std::span<const std::byte> values) {
      strip_.resize(values.size());
      transpose(values.data(), rows, static_cast<std::size_t>(columns), bytes, strip_.data());
      // All columns of the target are written at once if the strip is as wide, otherwise row by row.
      const bool is_whole = static_cast<std::int64_t>(rows) == stacked;
      const std::size_t step = is_whole ? strip_.size() : rows * bytes;
      for (std::size_t at = 0; at < strip_.size(); at += step) {
        const auto row = static_cast<std::int64_t>(at / (rows * bytes));
        put(static_cast<std::uint64_t>(row * stacked + first + begin) * bytes,
            std::span(strip_).subspan(at, step));
      }
    });
  }
  finish_overflow(tensor, shape, dtype);
}

}  // namespace dt::convert
