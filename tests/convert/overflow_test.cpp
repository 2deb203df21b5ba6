// Weights that a narrower type cannot hold.

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/hdf5/hdf5_file.hpp"
#include "base/numeric/dtype.hpp"
#include "checkpoint/sample.hpp"
#include "convert/export.hpp"
#include "convert/safetensors.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Writes a checkpoint of small values in which one parameter begins with `values`.
fs::path write(const fs::path& folder, const std::string& param, const std::vector<float>& values,
               std::int64_t step = 10) {
  checkpoint::Manifest manifest = checkpoint::test::sample_manifest(step);
  checkpoint::test::Pieces pieces = checkpoint::test::model_pieces(manifest.model);
  for (std::size_t i = 0; i < pieces.list.size(); ++i) {
    if (pieces.list[i].tensor == param) std::copy(values.begin(), values.end(), pieces.floats[i]->begin());
  }
  return checkpoint::test::write_checkpoint(folder, manifest, pieces.list);
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Returns the 16-bit elements of a tensor.
std::vector<std::uint16_t> bits_of(const fs::path& file, const std::string& tensor) {
  const SafetensorsFile tensors(file);
  const SafeTensor& t = tensors.tensors().at(tensor);
  std::vector<std::uint16_t> bits((t.end - t.begin) / 2);
  tensors.read(t, 0, std::as_writable_bytes(std::span(bits)));
  return bits;
}

TEST_CASE("values that a type cannot hold end an export, which names tensor and count") {
  const std::vector<float> values = {65519.9F, -65520, 7e4F, -1e30F, infinity, std::nanf(""), 0};
  struct Place {
    std::string param, name;  // GPT-2's: a table, and a matrix that is transposed
  };
  for (const Place& place : {Place{"embedding.token.weight", "transformer.wte.weight"},
                             Place{"layers.0.mlp.up.weight", "transformer.h.0.mlp.c_fc.weight"}}) {
    INFO(place.param);
    const TempFolder folder;
    const ExportSource source(write(folder.path(), place.param, values));
    for (const bool is_h5 : {false, true}) {
      const std::string message = error_of(ErrorKind::input, [&] {
        is_h5 ? export_h5(source, folder / "m", {.dtype = DType::f16})
              : export_hf(source, folder / "m", {.dtype = DType::f16});
      });
      CHECK(contains(message, "3 of "));
      CHECK(contains(message,
                     place.param + " exceed the largest f16 value, 65504: the largest magnitude is 1e+30"));
      CHECK(contains(message, "--clamp"));
      CHECK(entries(folder.path()) == 1);
    }
    const ExportResult none = export_hf(source, folder / "bf16", {.dtype = DType::bf16, .clamp = true});
    CHECK(none.clamped.values == 0);
    const ExportResult clamped = export_hf(source, folder / "hf", {.dtype = DType::f16, .clamp = true});
    CHECK(clamped.clamped.values == 3);
    CHECK(clamped.clamped.tensors == 1);
    const auto bits = bits_of(folder / "hf/model.safetensors", place.name);
    // The matrix's rows are columns in the file.
    const std::int64_t step = place.param == "embedding.token.weight" ? 1 : 6;
    const auto at = [&](std::int64_t i) {
      return bits[static_cast<std::size_t>(step == 1 ? i : i % 4 * step + i / 4)];
    };
    CHECK(at(0) == 0x7bff);
    CHECK(at(1) == 0xfbff);
    CHECK(at(2) == 0x7bff);
    CHECK(at(3) == 0xfbff);
    CHECK(at(4) == 0x7c00);  // infinite values stay infinite
    CHECK((at(5) & 0x7fff) > 0x7c00);
    CHECK(at(6) == 0);
    CHECK(export_h5(source, folder / "m.h5", {.dtype = DType::f16, .clamp = true}).clamped.values == 3);
  }
}

TEST_CASE("types that a file has no name for, or that are no floats, are refused by name") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), "final_norm.weight", {1}));
  for (const bool is_h5 : {false, true}) {
    const std::string message = error_of(ErrorKind::internal, [&] {
      is_h5 ? export_h5(source, folder / "m", {.dtype = DType::i32})
            : export_hf(source, folder / "m", {.dtype = DType::i32});
    });
    CHECK(contains(message, "i32"));
  }
  CHECK(safetensors_dtype(DType::u8) == "U8");
}

TEST_CASE("bf16 overflows too, and so does a mean") {
  const TempFolder folder;
  const float largest = std::numeric_limits<float>::max();
  const fs::path a = write(folder.path(), "final_norm.weight", {largest, -largest, 1});
  const std::string message =
      error_of(ErrorKind::input, [&] { export_hf(ExportSource(a), folder / "m", {.dtype = DType::bf16}); });
  CHECK(contains(message, "2 of 4 values of final_norm.weight exceed the largest bf16 value, 3.3895e+38"));
  export_hf(ExportSource(a), folder / "m", {.dtype = DType::bf16, .clamp = true});
  const auto bits = bits_of(folder / "m/model.safetensors", "transformer.ln_f.weight");
  CHECK(bits[0] == 0x7f7f);
  CHECK(bits[1] == 0xff7f);
  const fs::path b = write(folder.path(), "final_norm.weight", {-largest, 1, 1}, 11);
  CHECK(contains(error_of(ErrorKind::input,
                          [&] {
                            export_hf(ExportSource({a, b}, {2, -1}), folder / "mean", {});
                          }),
                 "of final_norm.weight exceed the largest f32 value"));
  CHECK_FALSE(fs::exists(folder / "mean"));
}

}  // namespace
}  // namespace dt::convert
