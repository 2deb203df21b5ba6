#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/half.hpp"
#include "base/hdf5_file.hpp"
#include "checkpoint/export.hpp"
#include "checkpoint/safetensors.hpp"
#include "checkpoint/sample.hpp"
#include "model/hf_names.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::TempFolder;

/// Thirds are no halves, nor floats: every conversion rounds.
float value_of(std::size_t param, std::int64_t element, int salt) {
  return static_cast<float>(
      (1000.0 * static_cast<double>(param) + static_cast<double>(element) + 0.125 * salt) / 3);
}

int salt_of(const std::string& kind, int salt) {
  return salt + (kind == kind_weights ? 0 : kind == kind_first_moment ? 1 : 2);
}

/// How parameters are cut into pieces; every element once.
using Cut = std::function<std::vector<Piece>(const Shape&)>;
std::vector<Piece> uncut(const Shape& shape) {
  return {Piece::whole(shape)};
}
/// Like ZeRO: where it comes.
std::vector<Piece> in_thirds(const Shape& shape) {
  std::vector<Piece> pieces(3, Piece::whole(shape));
  pieces[0].end = pieces[1].begin = shape.numel() / 3;
  pieces[1].end = pieces[2].begin = shape.numel() * 2 / 3;
  return pieces;
}
/// Like tensor parallelism: by columns, unevenly; and each box in two.
std::vector<Piece> in_boxes(const Shape& shape) {
  const int dim = shape.rank() - 1;
  const std::int64_t border = shape[dim] / 3;
  std::vector<Piece> pieces;
  for (const auto& [start, extent] :
       {std::pair{std::int64_t{0}, border}, std::pair{border, shape[dim] - border}}) {
    std::vector<std::int64_t> box(shape.dims());
    box[static_cast<std::size_t>(dim)] = extent;
    Piece piece = Piece::whole(shape);
    piece.start[static_cast<std::size_t>(dim)] = start;
    piece.box = Shape(box);
    const std::int64_t numel = piece.box.numel();
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, numel / 2}, std::pair{numel / 2, numel}}) {
      pieces.push_back(piece);
      pieces.back().begin = begin;
      pieces.back().end = end;
    }
  }
  return pieces;
}

struct Sample {
  model::ModelSpec spec = test::tiny_gpt2();
  std::vector<std::string> kinds = {kind_weights};
  Cut cut = uncut;
  int salt = 0;
  std::int64_t step = 10;
};

fs::path write(const fs::path& folder, const Sample& sample) {
  std::vector<std::vector<float>> memory;
  std::vector<SourcePiece> pieces;
  const model::ParameterTable table(sample.spec);
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    for (const std::string& kind : sample.kinds) {
      for (const Piece& piece : sample.cut(table.params()[p].shape)) {
        std::vector<float>& values = memory.emplace_back(static_cast<std::size_t>(piece.numel()) + 1);
        for (std::int64_t i = 0; i < piece.numel(); ++i) {
          values[static_cast<std::size_t>(i)] =
              value_of(p, test::global_index(piece, i), salt_of(kind, sample.salt));
        }
        pieces.push_back(
            {table.params()[p].name, kind, piece, Tensor(values.data(), DType::f32, Shape{piece.numel()})});
      }
    }
  }
  Manifest manifest = test::sample_manifest(sample.step);
  manifest.model = sample.spec;
  return write_checkpoint(folder, manifest, pieces);
}

const std::vector<std::string> all_kinds = {kind_weights, kind_first_moment, kind_second_moment};

std::string bytes_of(const SafetensorsFile& file, const std::string& tensor) {
  const SafeTensor& t = file.tensors().at(tensor);
  std::string bytes(t.end - t.begin, '\0');
  file.read(t, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

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

TEST_CASE("shards hold whole tensors within the bound, in order, and the index tells where") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), {}));
  export_hf(source, folder / "one", {.max_shard_bytes = 0});
  const SafetensorsFile one(folder / "one/model.safetensors");
  constexpr std::uint64_t bound = 200;  // some tensors are larger
  const ExportResult result = export_hf(source, folder / "hf", {.max_shard_bytes = bound});
  CHECK(result.num_shards > 3);
  CHECK_FALSE(fs::exists(folder / "hf/model.safetensors"));
  const auto index = nlohmann::json::parse(read_file(folder / "hf/model.safetensors.index.json"));
  CHECK(index.at("metadata").at("total_size") == result.bytes);
  CHECK(index.at("weight_map").size() == one.tensors().size());
  std::uint64_t before = bound;
  std::size_t found = 0;
  for (std::int64_t i = 1; i <= result.num_shards; ++i) {
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i, result.num_shards);
    const SafetensorsFile file(folder / "hf" / name);
    std::uint64_t bytes = 0;
    std::uint64_t first = UINT64_MAX;
    std::uint64_t first_bytes = 0;
    for (const auto& [tensor, t] : file.tensors()) {
      CHECK(index.at("weight_map").at(tensor) == name);
      CHECK(bytes_of(file, tensor) == bytes_of(one, tensor));
      bytes += t.end - t.begin;
      if (t.begin < first) {
        first = t.begin;
        first_bytes = t.end - t.begin;
      }
      ++found;
    }
    CHECK((bytes <= bound || file.tensors().size() == 1));
    CHECK(before + first_bytes > bound);  // else it would have joined the shard before
    before = bytes;
  }
  CHECK(found == one.tensors().size());
  CHECK(export_hf(source, folder / "all", {.max_shard_bytes = result.bytes}).num_shards == 1);
  CHECK(export_hf(source, folder / "two", {.max_shard_bytes = result.bytes - 1}).num_shards == 2);
}

TEST_CASE("weights in 16 bits are rounded from the stored ones, and the config says so") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), {.kinds = all_kinds}));
  const ExportSource same(write(folder.path(), {.kinds = all_kinds, .step = 11}));
  export_hf(same, folder / "f32");
  const SafetensorsFile single(folder / "f32/model.safetensors");
  struct Half {
    DType dtype;
    std::uint16_t (*round)(float);
    const char* torch;
  };
  for (const Half& half :
       {Half{DType::bf16, f32_to_bf16, "bfloat16"}, Half{DType::f16, f32_to_f16, "float16"}}) {
    const std::string name(dtype_name(half.dtype));
    const ExportResult result =
        export_hf(source, folder / name, {.dtype = half.dtype, .with_optimizer = true});
    CHECK(result.dtype == half.dtype);
    const auto config = nlohmann::json::parse(read_file(folder / name / "config.json"));
    CHECK(config.at("torch_dtype") == half.torch);
    const SafetensorsFile file(folder / name / "model.safetensors");
    REQUIRE(file.tensors().size() == single.tensors().size());
    for (const auto& [tensor, t] : file.tensors()) {
      CHECK(t.dtype == half.dtype);
      const std::string from = bytes_of(single, tensor);
      const std::string to = bytes_of(file, tensor);
      REQUIRE(from.size() == 2 * to.size());
      for (std::size_t i = 0; i < to.size() / 2; ++i) {
        float value = 0;
        std::uint16_t bits = 0;
        std::memcpy(&value, &from[4 * i], 4);
        std::memcpy(&bits, &to[2 * i], 2);
        REQUIRE(bits == half.round(value));
      }
    }
    const SafetensorsFile moments(folder / name / "optimizer.safetensors");
    for (const auto& [tensor, t] : moments.tensors()) CHECK(t.dtype == DType::f32);
    export_h5(source, folder / (name + ".h5"), {.dtype = half.dtype, .with_optimizer = true});
    const Hdf5Reader h5(folder / (name + ".h5"));
    CHECK(h5.info("/parameters/final_norm.weight").dtype == half.dtype);
    CHECK(h5.info("/adam_v/final_norm.weight").dtype == DType::f32);
  }
}

TEST_CASE("moments lie beside the weights, under the same names and in the same layout") {
  const TempFolder folder;
  const Sample sample{.kinds = all_kinds};
  const ExportSource source(write(folder.path(), sample));
  const ExportResult result = export_hf(source, folder / "hf", {.with_optimizer = true});
  export_h5(source, folder / "m.h5", {.with_optimizer = true});
  const model::ParameterTable table(sample.spec);
  const auto parameters = static_cast<std::uint64_t>(table.num_parameters());
  CHECK(result.bytes == parameters * 12);
  CHECK(export_bytes(source, {.with_optimizer = true}) == parameters * 12);
  const SafetensorsFile weights(folder / "hf/model.safetensors");
  const SafetensorsFile moments(folder / "hf/optimizer.safetensors");
  CHECK(contains(read_file(moments.path()).substr(0, 60), R"("step":"10")"));
  CHECK(moments.tensors().size() == 2 * weights.tensors().size());
  const Hdf5Reader h5(folder / "m.h5");
  for (const std::string kind : {kind_first_moment, kind_second_moment}) {
    // A checkpoint whose weights are these moments exports the same bytes.
    const fs::path place = folder / kind;
    fs::create_directory(place);
    export_hf(ExportSource(write(place, {.salt = salt_of(kind, 0)})), place / "hf");
    const SafetensorsFile expected(place / "hf/model.safetensors");
    for (const auto& [tensor, t] : expected.tensors())
      CHECK(bytes_of(moments, kind + "." + tensor) == bytes_of(expected, tensor));
    for (std::size_t p = 0; p < table.params().size(); ++p) {
      const std::vector<float> values =
          h5.read_all<float>(fmt::format("/{}/{}", kind, table.params()[p].name));
      for (std::size_t i = 0; i < values.size(); ++i)
        REQUIRE(values[i] == value_of(p, static_cast<std::int64_t>(i), salt_of(kind, 0)));
    }
  }
}

TEST_CASE("a checkpoint of weights alone has no moments to export") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), {}));
  for (const bool is_h5 : {false, true}) {
    const std::string message = test::error_of(ErrorKind::input, [&] {
      is_h5 ? export_h5(source, folder / "m.h5", {.with_optimizer = true})
            : export_hf(source, folder / "hf", {.with_optimizer = true});
    });
    CHECK(contains(message, "adam_m of embedding.token.weight is missing"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
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
    CHECK(rounded <= 1);  // once from fp64 or by way of fp32: rarely another result
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
  model::ModelSpec vocabulary = test::tiny_gpt2();
  vocabulary.vocabulary = 8;
  model::ModelSpec untied = test::tiny_gpt2();
  untied.tied = false;
  model::ModelSpec norm = test::tiny_gpt2();
  norm.norm_eps = 1e-3;
  model::ModelSpec spread = test::tiny_gpt2();
  spread.init_std = 0.5;
  const fs::path first = write(folder.path(), {.step = 1});
  const auto message = [&](const model::ModelSpec& spec, std::int64_t step) {
    const fs::path other = write(folder.path(), {.spec = spec, .step = step});
    return test::error_of(ErrorKind::input, [&] { ExportSource({first, other}, {1, 1}); });
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
    pieces.erase(pieces.begin());  // as many elements as there should be where the boxes are alike
    return pieces;
  };
  const Cut gap = [](const Shape& shape) {
    std::vector<Piece> pieces = in_thirds(shape);
    pieces.pop_back();
    return pieces;
  };
  const auto message = [&](const Cut& cut, std::int64_t step) {
    const ExportSource source(write(folder.path(), {.cut = cut, .step = step}));
    return test::error_of(ErrorKind::input, [&] { export_h5(source, folder / "m.h5"); });
  };
  CHECK(contains(message(overlapping, 1), "weights of embedding.token.weight: its stored pieces overlap"));
  CHECK(contains(message(gap, 2), "its stored pieces hold 18 of 28 elements"));
  CHECK_FALSE(fs::exists(folder / "m.h5"));
}

TEST_CASE("who is told of progress may end an export: nothing is left") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), {.kinds = all_kinds}));
  struct Stop {};
  const ExportOptions options{.with_optimizer = true, .max_shard_bytes = 100};
  std::uint64_t calls = 0;
  export_hf(source, folder / "hf", options, [&](std::uint64_t) { ++calls; });
  fs::remove_all(folder / "hf");
  for (std::uint64_t last = 1; last <= calls; last += 7) {
    std::uint64_t seen = 0;
    const auto stop = [&](std::uint64_t) {
      if (++seen == std::min(last, calls)) throw Stop();
    };
    CHECK_THROWS_AS(export_hf(source, folder / "hf", options, stop), Stop);
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
  }
  CHECK_THROWS_AS(export_h5(source, folder / "m.h5", {},
                            [](std::uint64_t bytes) {
                              if (bytes == 0) throw Stop();
                            }),
                  Stop);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("only models are replaced") {
  const TempFolder folder;
  const ExportSource source(write(folder.path(), {}));
  const auto replaces = [&](const fs::path& path) {
    return test::error_of(ErrorKind::input,
                          [&] {
                            path.extension() == ".h5" ? export_h5(source, path, {.overwrite = true})
                                                      : export_hf(source, path, {.overwrite = true});
                          })
        .empty();
  };
  test::write_text(folder / "notes.h5", "my notes");
  test::write_text(folder / "empty.h5", "");
  CHECK_FALSE(replaces(folder / "notes.h5"));
  CHECK(read_file(folder / "notes.h5") == "my notes");
  CHECK(replaces(folder / "empty.h5"));
  CHECK(replaces(folder / "empty.h5"));
  fs::copy_file(folder / "step-00000010.g1/rank-00000.h5", folder / "rank.h5");
  CHECK_FALSE(replaces(folder / "rank.h5"));
  fs::create_directory(folder / "project");
  test::write_text(folder / "project/config.json", "{}");
  CHECK_FALSE(replaces(folder / "project"));
  test::write_text(folder / "project/model.safetensors", "");
  fs::create_directory(folder / "project/src");
  CHECK_FALSE(replaces(folder / "project"));
  fs::remove(folder / "project/src");
  CHECK(replaces(folder / "project"));
}

}  // namespace
}  // namespace dt::checkpoint
