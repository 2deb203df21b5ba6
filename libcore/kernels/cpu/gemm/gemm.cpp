#include "kernels/cpu/gemm/gemm.hpp"

#include <algorithm>

#include <hwy/cache_control.h>

#include "base/numeric/integer.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/cpu/gemm/gemm_kernels.hpp"
#include "kernels/cpu/gemm/tile_bf16.hpp"
#include "kernels/cpu/simd/parallel.hpp"
#include "kernels/element_types.hpp"

namespace dt::kernels::cpu {

namespace {

/// The most units of B that are packed at once: 12 MB, within reach of a shared cache.
constexpr std::int64_t most_packed = std::int64_t{3} << 20;
/// The most sums that are kept, 16 MB. For more rows, B is packed again.
constexpr std::int64_t most_sums = std::int64_t{4} << 20;

/// Prefetches memory into the L2 cache for writing.
void fetch_to_write(const void* from, std::int64_t bytes) {
  const auto* p = static_cast<const std::byte*>(from);
  for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i, 1, 2);
}

/// The division of [0, extent) into parts that differ by at most one granule. The last part ends at
/// extent.
struct Split {
  Split(std::int64_t extent, std::int64_t most_parts, std::int64_t granule)
      : extent(extent),
        granule(granule),
        granules(ceil_div(extent, granule)),
        parts(std::min(most_parts, granules)),
        most(ceil_div(granules, parts) * granule) {}
  std::int64_t begin(std::int64_t i) const { return granules * i / parts * granule; }
  std::int64_t end(std::int64_t i) const { return std::min(begin(i + 1), extent); }
  std::int64_t length(std::int64_t i) const { return end(i) - begin(i); }
  std::int64_t mean() const { return ceil_div(granules * granule, parts); }

  std::int64_t extent, granule, granules, parts;
  std::int64_t most;  // length of the longest part
};

/// The division of C into blocks, one job each: equal work for every thread, large blocks.
struct Blocks {
  Split rows, columns;

  static Blocks choose(std::int64_t M, std::int64_t N, std::int64_t most_rows, const GemmKernels& kernels,
                       std::int64_t threads) {
    const std::int64_t num_rows = ceil_div(M, most_rows);
    const std::int64_t more = std::min<std::int64_t>(threads - 1, 8);
    Blocks best{Split(M, num_rows, kernels.a.width), Split(N, 1, kernels.b.width)};
    for (std::int64_t i = 0; i <= more; ++i) {
      for (std::int64_t j = 0; j <= more; ++j) {
        const Blocks candidate{Split(M, num_rows + i, kernels.a.width), Split(N, 1 + j, kernels.b.width)};
        if (candidate.cost(threads) < best.cost(threads)) best = candidate;
      }
    }
    return best;
  }
  /// Returns the elements that the busiest thread computes, and those that it packs or loads,
  /// weighted by their relative cost.
  std::int64_t cost(std::int64_t threads) const {
    const std::int64_t height = rows.mean(), width = columns.mean();
    return ceil_div(count(), threads) * (height * width + 48 * height + 8 * width);
  }
  std::int64_t count() const { return rows.parts * columns.parts; }
  std::int64_t floats() const { return rows.most * columns.most; }
};

/// One operand as panels (gemm_pack.hpp). Stretches, each of one chain's units
/// of k, are consecutive, and so are the panels within each.
class PackedOperand {
 public:
  PackedOperand(const PanelKind& kind, const GemmKernels& kernels, const Matrix& matrix, bool k_contiguous,
                DType dtype, bool in_pairs)
      : kind_(kind),
        stretch_elements_(kernels.chain * kernels.unit_elements),
        kernels_(kernels),
        source_{static_cast<const std::byte*>(matrix.data), matrix.stride, k_contiguous, dtype, in_pairs},
        element_bytes_(static_cast<std::int64_t>(dtype_bytes(dtype))) {}

  /// Allocates room for `count` rows (or columns) over `units` units, `copies` times.
  void allocate(Arena& arena, std::int64_t count, std::int64_t units, std::int64_t copies) {
    padded_ = round_up(count, kind_.group);
    copy_ = padded_ * units;
    panels_ = arena.allocate(DType::f32, {copies, copy_}).data<float>();
  }
  /// Returns the panel of copy `copy` that starts at row (or column) i, in the stretch that starts
  /// at `first_unit` and has `units` units.
  const float* panel(std::int64_t copy, std::int64_t i, std::int64_t first_unit, std::int64_t units) const {
    return panels_ + copy * copy_ + padded_ * first_unit + i * units;
  }

  /// Packs rows [begin, begin + count) over elements [k, k + K).
  void pack(std::int64_t copy, std::int64_t begin, std::int64_t count, std::int64_t k, std::int64_t K) {
    for (std::int64_t stretch = 0; stretch < stretches(K); ++stretch) {
      pack_stretch(copy, begin, 0, count, k, K, stretch);
    }
  }
  /// Does the same with all threads of the team, into copy 0. OpenMP chooses the stretches and rows
  /// of each thread.
  void pack_by_team(std::int64_t begin, std::int64_t count, std::int64_t k, std::int64_t K) {
    const std::int64_t chunk = round_up(std::min<std::int64_t>(128, 8 * kind_.width), kind_.group);
    const std::int64_t chunks = ceil_div(count, chunk);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t job = 0; job < chunks * stretches(K); ++job) {
      const std::int64_t i = job % chunks * chunk;
      pack_stretch(0, begin, i, std::min(chunk, count - i), k, K, job / chunks);
    }
  }

 private:
  std::int64_t stretches(std::int64_t K) const {
    return ceil_div(K, stretch_elements_);
  }

  /// Packs rows [i, i + count), counted from `begin`, of one stretch.
  void pack_stretch(std::int64_t copy, std::int64_t begin, std::int64_t i, std::int64_t count, std::int64_t k,
                    std::int64_t K, std::int64_t stretch) {
    const std::int64_t first = stretch * stretch_elements_;
    const std::int64_t elements = std::min(stretch_elements_, K - first);
    Unpacked from = source_;
    from.data += element_bytes_ * offset(begin + i, k + first);
    kind_.pack(from, count, elements,
               panels_ + copy * copy_ + padded_ * stretch * kernels_.chain + i * kernels_.units(elements));
  }
  std::int64_t offset(std::int64_t i, std::int64_t k) const {
    return source_.k_contiguous ? i * source_.stride + k : i + k * source_.stride;
  }

  PanelKind kind_;
  std::int64_t stretch_elements_;
  const GemmKernels& kernels_;
  Unpacked source_;
  std::int64_t element_bytes_;
  std::int64_t padded_ = 0, copy_ = 0;
  float* panels_ = nullptr;
};

/// A product in progress. All threads pack B, a part of N and of K at a time. The blocks of C that
/// need it are jobs, each of which packs its own rows of A.
/// Source: Goto & van de Geijn 2008, section 4.
class Multiplication {
 public:
  Multiplication(const Context& context, const Product& product, const GemmKernels& kernels, int threads)
      : poll_(context),
        p_(product),
        kernels_(kernels),
        units_(kernels.units(product.K)),
        packed_units_(units_ <= kernels.most_whole_units ? std::max<std::int64_t>(units_, 1)
                                                         : kernels.units_of_part),
        a_(kernels.a, kernels, product.a, !product.a.transposed, product.operands, is_in_pairs(product)),
        b_(kernels.b, kernels, product.b, product.b.transposed, product.operands, is_in_pairs(product)),
        parts_n_(product.N, ceil_div(product.N, std::max(most_packed / packed_units_, kernels.b.group)),
                 kernels.b.group),
        parts_m_(product.M, sums_are_kept() ? ceil_div(product.M * parts_n_.most, most_sums) : 1,
                 kernels.a.group),
        blocks_(Blocks::choose(
            parts_m_.most, parts_n_.most,
            std::clamp(kernels.most_block_units / packed_units_ / kernels.a.width * kernels.a.width,
                       kernels.a.width, kernels.most_block_rows),
            kernels, threads)) {}

  void allocate(Arena& arena, int threads) {
    a_.allocate(arena, blocks_.rows.most, packed_units_, threads);
    b_.allocate(arena, parts_n_.most, packed_units_, 1);
    const std::int64_t sums = sums_are_kept() ? blocks_.count() * blocks_.floats() : threads * panel_floats();
    sums_ = arena.allocate(DType::f32, {sums}).data<float>();
    if (p_.bias) {
      bias_ = arena.allocate(DType::f32, {p_.N}).data<float>();
      kernels_.widen(p_.bias_dtype, p_.bias, p_.N, bias_);
    }
  }

  void rethrow() const { poll_.rethrow(); }

  /// Computes the product. Every thread of the team calls it.
  void run() {
    const AmxTiles tiles(p_.arithmetic == Arithmetic::amx);
    for (std::int64_t n = 0; n < parts_n_.parts; ++n) {
      for (std::int64_t m = 0; m < parts_m_.parts; ++m) {
        for (std::int64_t unit = 0; unit < std::max<std::int64_t>(units_, 1); unit += packed_units_) {
          const std::int64_t k = unit * kernels_.unit_elements;
          if (m == 0 || sums_are_kept())
            b_.pack_by_team(parts_n_.begin(n), parts_n_.length(n), k, packed_elements(k));
          multiply_part(m, n, unit);
        }
      }
    }
    if (nontemporal_) hwy::FlushStream();
  }

 private:
  static bool is_in_pairs(const Product& p) { return p.arithmetic != Arithmetic::fp32; }
  bool sums_are_kept() const { return packed_units_ < units_; }
  /// Returns the elements that are packed from k on.
  std::int64_t packed_elements(std::int64_t k) const {
    return std::min(packed_units_ * kernels_.unit_elements, p_.K - k);
  }

  void multiply_part(std::int64_t m, std::int64_t n, std::int64_t unit) {
    const int thread = omp_get_thread_num();
    std::int64_t packed = -1;  // row block of A that this thread has packed
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t job = 0; job < blocks_.count(); ++job) {
      const std::int64_t block_row = job / blocks_.columns.parts, block_column = job % blocks_.columns.parts;
      const std::int64_t i = blocks_.rows.begin(block_row), j = blocks_.columns.begin(block_column);
      const std::int64_t rows = std::min(blocks_.rows.end(block_row), parts_m_.length(m)) - i;
      const std::int64_t columns = std::min(blocks_.columns.end(block_column), parts_n_.length(n)) - j;
      if (rows <= 0 || columns <= 0) continue;
      poll_(thread);
      const std::int64_t k = unit * kernels_.unit_elements;
      if (packed != i) a_.pack(thread, parts_m_.begin(m) + (packed = i), rows, k, packed_elements(k));
      float* sums = sums_ + (sums_are_kept() ? job * blocks_.floats() : thread * panel_floats());
      for (std::int64_t column = 0; column < columns; column += kernels_.b.width) {
        const std::int64_t width = std::min(kernels_.b.width, columns - column);
        multiply_panel({parts_m_.begin(m) + i, rows, parts_n_.begin(n) + j + column, width}, thread,
                       j + column, unit, sums);
        if (sums_are_kept()) sums += panel_floats();
      }
    }
  }

  /// The place of a panel's products in C.
  struct Place {
    std::int64_t row, rows, column, columns;
  };

  /// Computes the sums of column panel j of B's part. The caches hold them while all packed units
  /// of k are added.
  void multiply_panel(const Place& place, int thread, std::int64_t j, std::int64_t unit, float* sums) const {
    const std::int64_t end = std::min(unit + packed_units_, units_);
    if (units_ == 0) std::fill_n(sums, panel_floats(), 0.0f);
    const std::int64_t chain = kernels_.chain;
    for (std::int64_t first = unit; first < end; first += chain) {
      const std::int64_t units = std::min(chain, end - first), next = first + units;
      const float* next_b = next < end ? b_.panel(0, j, next - unit, std::min(chain, end - next))
                                       : b_.panel(0, j + kernels_.b.width, 0, std::min(chain, end - unit));
      multiply_stretch(place, a_.panel(thread, 0, first - unit, units), units,
                       b_.panel(0, j, first - unit, units), next_b, sums, first > 0, next == units_);
    }
    if (units_ == 0) finish_rows(place, sums);
  }

  /// Multiplies a panel of B by those of A, which stay in the L2 cache. Each tile prefetches a part
  /// of the data that comes next: a panel of B, and C at the last units. A complete tile is written
  /// to C at once.
  void multiply_stretch(const Place& place, const float* a, std::int64_t units, const float* b,
                        const float* next_b, float* sums, bool add, bool is_last) const {
    const std::int64_t height = kernels_.a.width, width = kernels_.b.width;
    const std::int64_t unit_bytes = ceil_div(width * 4, ceil_div(place.rows, height));
    Prefetch prefetch{reinterpret_cast<const char*>(next_b), unit_bytes};
    for (std::int64_t row = 0; row < place.rows; row += height, prefetch.from += units * unit_bytes) {
      const Place tile{place.row + row, std::min(height, place.rows - row), place.column, place.columns};
      if (is_last && fetches_c_) fetch_c(tile);
      kernels_.tile(tile.rows, units, a + row * units, b, sums + row * width, width, add, prefetch);
      if (is_last) finish_rows(tile, sums + row * width);
    }
  }

  void fetch_c(const Place& at) const {
    const std::int64_t bytes = at.columns * static_cast<std::int64_t>(dtype_bytes(p_.output));
    for (std::int64_t r = 0; r < at.rows; ++r) fetch_to_write(c_at(at.row + r, at.column), bytes);
  }

  void finish_rows(const Place& at, const float* sums) const {
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(p_.output));
    const auto* residual = static_cast<const std::byte*>(p_.residual);
    kernels_.run_epilogue({at.rows, at.columns, sums, kernels_.b.width, p_.output, c_at(at.row, at.column),
                           p_.c_stride, p_.accumulate, bias_ ? bias_ + at.column : nullptr,
                           residual ? residual + (at.row * p_.residual_stride + at.column) * bytes : nullptr,
                           p_.residual_stride, nontemporal_});
  }

  /// Returns whether C is only written, in whole lines, and too large for its next reader to find
  /// it in a cache.
  bool uses_nontemporal_stores() const {
    constexpr std::int64_t line = 64;
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(p_.output));
    const bool in_lines =
        reinterpret_cast<std::uintptr_t>(p_.c) % line == 0 && p_.c_stride * bytes % line == 0;
    return in_lines && !p_.accumulate && p_.M * p_.N * bytes >= kernels_.nontemporal_min_bytes;
  }

  std::int64_t panel_floats() const {
    return blocks_.rows.most * kernels_.b.width;
  }

  std::byte* c_at(std::int64_t i, std::int64_t j) const {
    return static_cast<std::byte*>(p_.c) +
           (i * p_.c_stride + j) * static_cast<std::int64_t>(dtype_bytes(p_.output));
  }

  TeamPoll poll_;
  const Product& p_;
  const GemmKernels& kernels_;
  std::int64_t units_, packed_units_;
  PackedOperand a_, b_;
  Split parts_n_, parts_m_;
  Blocks blocks_;
  bool nontemporal_ = uses_nontemporal_stores();
  bool fetches_c_ = p_.accumulate || kernels_.fetches_c_to_write;
  float* sums_ = nullptr;
  float* bias_ = nullptr;
};

}  // namespace

bool cpu_has(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::fp32) return true;
  if (arithmetic == Arithmetic::tf32) return false;
  if (!has_avx512()) return false;
  if (arithmetic == Arithmetic::amx) return cpu_has_amx();
  return arithmetic == Arithmetic::amx_by_loops || has_bf16_tiles();
}

std::string arithmetic_unavailable_reason(Arithmetic arithmetic) {
  if (cpu_has(arithmetic)) return arithmetic == Arithmetic::amx ? amx_unavailable_reason() : "";
  if (arithmetic == Arithmetic::amx) return "has no AMX (amx_bf16)";
  if (arithmetic == Arithmetic::tf32) return "has no TF32";
  return arithmetic == Arithmetic::bf16 ? "has no AVX512_BF16" : "has no AVX-512";
}

void multiply(const Context& context, const Product& p) {
  const auto is_known = [](DType dtype) { return has_dtype(CpuTypes(), dtype); };
  DT_CHECK(is_known(p.operands) && is_known(p.output) && is_known(p.bias_dtype),
           "a matrix product of {} with bias of {} into {}", dtype_name(p.operands), dtype_name(p.bias_dtype),
           dtype_name(p.output));
  DT_CHECK(arithmetic_unavailable_reason(p.arithmetic).empty() &&
               (p.arithmetic == Arithmetic::fp32 || p.operands == operand_dtype(p.arithmetic)),
           "a matrix product of {} multiplied in {}", dtype_name(p.operands), name_of(p.arithmetic));
  if (p.M == 0 || p.N == 0) return;
  constexpr std::int64_t serial_products = 64 * 64 * 64;
  const int threads = p.M * p.N * p.K <= serial_products ? 1 : context.threads();
  const GemmKernels kernels = gemm_kernels(p.arithmetic);
  const Arena::Scope scope(context.scratch());
  Multiplication multiplication(context, p, kernels, threads);
  multiplication.allocate(context.scratch(), threads);
  if (threads == 1) {
    multiplication.run();
  } else {
#pragma omp parallel num_threads(threads)
    multiplication.run();
  }
  multiplication.rethrow();
}

}  // namespace dt::kernels::cpu
