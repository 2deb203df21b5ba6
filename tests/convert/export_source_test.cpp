#include <catch2/catch.hpp>

#include "base/hdf5/hdf5_file.hpp"
#include "base/numeric/dtype.hpp"
#include "convert/export.hpp"
#include "convert/export_sample.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;
using test::all_kinds;
using test::Cut;
using test::in_boxes;
using test::in_thirds;
using test::Sample;
using test::uncut;
using test::value_of;
using test::write;

TEST_CASE("any layout of pieces exports the same files") {
  const TempFolder folder;
  std::string hf;
  std::string h5;
  int number = 0;
  for (const Cut& cut : {Cut(uncut), Cut(in_thirds), Cut(in_boxes)}) {
    const fs::path place = folder / std::to_string(number++);
    fs::create_directory(place);
    const ExportSource source(write(place, {.kinds = all_kinds, .cut = cut}));
    export_hf(source, place / "hf", {.with_optimizer = true});
    export_h5(source, place / "m.h5", {.with_optimizer = true});
    const std::string files =
        read_file(place / "hf/model.safetensors") + read_file(place / "hf/optimizer.safetensors");
    if (hf.empty()) hf = files;
    if (h5.empty()) h5 = read_file(place / "m.h5");
    CHECK(files == hf);
    CHECK(read_file(place / "m.h5") == h5);
  }
}

TEST_CASE("a mean is that of a plain loop in fp64, whatever the layouts") {
  const TempFolder folder;
  const Sample samples[] = {{.salt = 1, .step = 1},
                            {.cut = in_boxes, .salt = 5, .step = 2},
                            {.cut = in_thirds, .salt = 8, .step = 3}};
  std::vector<fs::path> paths;
  for (const Sample& sample : samples) paths.push_back(write(folder.path(), sample));
  const model::ParameterTable table(samples[0].spec);
  for (const std::vector<double>& weights : {std::vector<double>{1, 1, 1}, {0.5, 0.3, 0.2}, {0.81, 0.9, 1}}) {
    const ExportSource source(paths, weights);
    CHECK(source.manifest().state.step == 3);
    export_h5(source, folder / "m.h5", {.overwrite = true});
    export_h5(source, folder / "half.h5", {.dtype = DType::bf16, .overwrite = true});
    const Hdf5Reader file(folder / "m.h5");
    const Hdf5Reader half(folder / "half.h5");
    CHECK(file.int_attribute("/", "step") == 3);
    std::int64_t rounded = 0;
    for (std::size_t p = 0; p < table.params().size(); ++p) {
      const std::string dataset = "/parameters/" + table.params()[p].name;
      const std::vector<float> values = file.read_all<float>(dataset);
      std::vector<std::uint16_t> halves(values.size());
      half.read(dataset, 0, std::as_writable_bytes(std::span(halves)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0;
        double total = 0;
        for (int c = 0; c < 3; ++c) {
          sum += weights[static_cast<std::size_t>(c)] *
                 static_cast<double>(value_of(p, static_cast<std::int64_t>(i), samples[c].salt));
          total += weights[static_cast<std::size_t>(c)];
        }
        REQUIRE(values[i] == static_cast<float>(sum / total));
        rounded += halves[i] != f32_to_bf16(values[i]);
      }
    }
    CHECK(rounded <= 1);  // rounding once from fp64 and by way of fp32 seldom differ
  }
}

TEST_CASE("the mean of equal checkpoints is each of them") {
  const TempFolder folder;
  const fs::path a = write(folder.path(), {.step = 1});
  const fs::path b = write(folder.path(), {.cut = in_thirds, .step = 2});
  export_hf(ExportSource(a), folder / "a");
  export_hf(ExportSource({b, a, b}, {1, 1, 1}), folder / "mean");
  CHECK(read_file(folder / "a/model.safetensors") == read_file(folder / "mean/model.safetensors"));
}

TEST_CASE("checkpoints of different models have no mean: the first difference is named") {
  const TempFolder folder;
  model::ModelSpec vocabulary = checkpoint::test::tiny_gpt2();
  vocabulary.vocabulary = 8;
  model::ModelSpec untied = checkpoint::test::tiny_gpt2();
  untied.tied = false;
  model::ModelSpec norm = checkpoint::test::tiny_gpt2();
  norm.norm_eps = 1e-3;
  model::ModelSpec spread = checkpoint::test::tiny_gpt2();
  spread.init_std = 0.5;
  const fs::path first = write(folder.path(), {.step = 1});
  const auto message = [&](const model::ModelSpec& spec, std::int64_t step) {
    const fs::path other = write(folder.path(), {.spec = spec, .step = step});
    return checkpoint::test::error_of(ErrorKind::input, [&] { ExportSource({first, other}, {1, 1}); });
  };
  CHECK(
      contains(message(vocabulary, 2), "step-00000002.g1: embedding.token.weight is [8, 4], but [7, 4] in"));
  CHECK(contains(message(untied, 3), "step-00000003.g1: head.weight is [7, 4], but missing in"));
  CHECK(contains(message(norm, 4), "step-00000004.g1: layer_norm_epsilon is 0.001, but 1e-05 in"));
  CHECK(message(spread, 5).empty());
}

TEST_CASE("pieces that overlap or leave gaps are refused") {
  const TempFolder folder;
  const Cut overlapping = [](const Shape& shape) {
    std::vector<Piece> pieces = in_boxes(shape);
    pieces.push_back(pieces.back());
    pieces.erase(pieces.begin());  // as many elements as there should be if the boxes are alike
    return pieces;
  };
  const Cut gap = [](const Shape& shape) {
    std::vector<Piece> pieces = in_thirds(shape);
    pieces.pop_back();
    return pieces;
  };
  const auto message = [&](const Cut& cut, std::int64_t step) {
    const ExportSource source(write(folder.path(), {.cut = cut, .step = step}));
    return checkpoint::test::error_of(ErrorKind::input, [&] { export_h5(source, folder / "m.h5"); });
  };
  CHECK(contains(message(overlapping, 1), "weights of embedding.token.weight: its stored pieces overlap"));
  CHECK(contains(message(gap, 2), "its stored pieces hold 18 of 28 elements"));
  CHECK_FALSE(fs::exists(folder / "m.h5"));
}

}  // namespace
}  // namespace dt::convert
