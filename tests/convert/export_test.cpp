#include "convert/export.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/hdf5/hdf5_file.hpp"
#include "checkpoint/sample.hpp"
#include "convert/safetensors.hpp"
#include "convert/weight_source.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"
#include "support/hdf5_reference.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;

model::ModelSpec tiny_llama() {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.vocabulary = 11;
  s.hidden = 8;
  s.query_heads = 4;
  s.key_value_heads = 2;
  s.head_dim = 2;
  s.mlp_hidden = 10;
  return s;
}

fs::path write_model(const fs::path& folder, const model::ModelSpec& spec, DType dtype = DType::f32) {
  checkpoint::Manifest manifest = checkpoint::test::sample_manifest();
  manifest.model = spec;
  return checkpoint::test::write_checkpoint(folder, manifest,
                                            checkpoint::test::model_pieces(spec, dtype).list);
}

/// Checks every element of every parameter, by whole reads and by cut ones.
void check_weights(const WeightSource& source, const model::ModelSpec& spec) {
  CHECK(source.spec() == spec);
  const model::ParameterTable table(spec);
  double first = 0;
  for (const model::ParamSpec& param : table.params()) {
    INFO(param.name);
    std::vector<Piece> wanted = {Piece::whole(param.shape), Piece::whole(param.shape)};
    Piece& cut = wanted.back();
    std::vector<std::int64_t> dims;
    for (int d = 0; d < param.shape.rank(); ++d) {
      cut.start[static_cast<std::size_t>(d)] = param.shape[d] / 3;
      dims.push_back(param.shape[d] - param.shape[d] / 3);
    }
    cut.box = Shape(dims);
    cut.begin = cut.box.numel() / 4;
    cut.end = cut.box.numel() - cut.box.numel() / 5;
    for (const Piece& piece : wanted) {
      std::vector<double> values(static_cast<std::size_t>(piece.numel()));
      source.read(param.name, piece, host_tensor(values));
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < piece.numel(); ++i) {
        const double expected = first + static_cast<double>(checkpoint::test::global_index(piece, i));
        if (values[static_cast<std::size_t>(i)] != expected) ++wrong;
      }
      CHECK(wrong == 0);
    }
    first += 1000;
  }
}

TEST_CASE("an exported folder holds the weights that the checkpoint holds") {
  model::ModelSpec untied = checkpoint::test::tiny_gpt2();
  untied.tied = false;
  model::ModelSpec biased = tiny_llama();
  biased.tied = biased.qkv_bias = biased.attention_output_bias = biased.mlp_bias = true;
  model::ModelSpec qwen2 = tiny_llama();
  qwen2.family = "qwen2";
  qwen2.qkv_bias = true;
  model::ModelSpec mistral = tiny_llama();
  mistral.family = "mistral";
  mistral.attention = model::AttentionSpec{.window = 3};
  for (const model::ModelSpec& spec :
       {checkpoint::test::tiny_gpt2(), untied, tiny_llama(), biased, qwen2, mistral}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const TempFolder folder;
      const checkpoint::Reader reader(write_model(folder.path(), spec, dtype));
      std::uint64_t done = 0;
      const ExportSource source(reader.path());
      const ExportResult result =
          export_hf(source, folder / "hf", {}, [&](std::uint64_t bytes) { done += bytes; });
      CHECK(result.bytes == done);
      CHECK(result.dtype == dtype);
      CHECK(export_bytes(source, {}) == done);
      CHECK(done ==
            static_cast<std::uint64_t>(model::ParameterTable(spec).num_parameters()) * dtype_bytes(dtype));
      check_weights(*open_weights(folder / "hf"), spec);
      check_weights(*open_weights(reader.path()), spec);
    }
  }
}

TEST_CASE("GPT-2's projections are stored as transformers has them: stacked and [input, output]") {
  const TempFolder folder;
  export_hf(ExportSource(write_model(folder.path(), checkpoint::test::tiny_gpt2())), folder / "hf");
  const SafetensorsFile file(folder / "hf/model.safetensors");
  const SafeTensor& stacked = file.tensors().at("transformer.h.0.attn.c_attn.weight");
  CHECK(stacked.shape == Shape{4, 12});
  std::vector<float> values(48);
  file.read(stacked, 0, std::as_writable_bytes(std::span(values)));
  const model::ParameterTable table(checkpoint::test::tiny_gpt2());
  for (std::int64_t input = 0; input < 4; ++input) {
    for (std::int64_t output = 0; output < 12; ++output) {
      const char* part = output < 4 ? "q" : output < 8 ? "k" : "v";
      const int number = table.find(fmt::format("layers.0.attention.{}.weight", part));
      const auto expected = static_cast<float>(1000 * number + output % 4 * 4 + input);
      CHECK(values[static_cast<std::size_t>(input * 12 + output)] == expected);
    }
  }
}

TEST_CASE("tensors larger than a block are transposed slab by slab") {
  model::ModelSpec spec = checkpoint::test::tiny_gpt2();
  spec.hidden = 500;
  spec.query_heads = spec.key_value_heads = 10;
  spec.head_dim = 50;
  spec.mlp_hidden = 19'001;
  const TempFolder folder;
  const checkpoint::Reader reader(write_model(folder.path(), spec));
  export_hf(ExportSource(reader.path()), folder / "hf");
  check_weights(*open_weights(folder / "hf"), spec);
  export_h5(ExportSource(reader.path()), folder / "model.h5");
  const Hdf5Reader file(folder / "model.h5");
  const std::vector<float> down = file.read_all<float>("/parameters/layers.0.mlp.down.weight");
  const auto first = static_cast<float>(1000 * model::ParameterTable(spec).find("layers.0.mlp.down.weight"));
  CHECK(down.front() == first);
  CHECK(down.back() == first + static_cast<float>(down.size() - 1));
}

TEST_CASE("a merged HDF5 file holds every parameter under its own name, and the config") {
  const TempFolder folder;
  export_h5(ExportSource(write_model(folder.path(), checkpoint::test::tiny_gpt2())), folder / "model.h5");
  const Hdf5Reader file(folder / "model.h5");
  const model::ParameterTable table(checkpoint::test::tiny_gpt2());
  double first = 0;
  for (const model::ParamSpec& param : table.params()) {
    const std::vector<float> values = file.read_all<float>("/parameters/" + param.name);
    REQUIRE(static_cast<std::int64_t>(values.size()) == param.shape.numel());
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(values[i] == static_cast<float>(first) + static_cast<float>(i));
    first += 1000;
  }
  CHECK(model::parse_hf_config(file.string_attribute("/", "config").value(), "h5") ==
        checkpoint::test::tiny_gpt2());
  CHECK(file.string_attribute("/", "format") == "dt-model");
  CHECK(file.int_attribute("/", "version") == 1);
  CHECK(file.int_attribute("/", "step") == 10);
  CHECK(dt_test::hdf5_difference(folder / "model.h5") == "");
}

TEST_CASE("an existing model is replaced only on demand, anything else never") {
  const TempFolder folder;
  const checkpoint::Reader reader(write_model(folder.path(), checkpoint::test::tiny_gpt2()));
  const auto message = [&](const fs::path& path, bool overwrite) {
    return checkpoint::test::error_of(ErrorKind::input, [&] {
      ExportOptions options;
      options.overwrite = overwrite;
      const ExportSource source(reader.path());
      path.extension() == ".h5" ? export_h5(source, path, options) : export_hf(source, path, options);
    });
  };
  CHECK(message(folder / "hf", false).empty());
  CHECK(message(folder / "model.h5", false).empty());
  for (const char* name : {"hf", "model.h5"}) {
    CHECK(contains(message(folder / name, false), "already exists"));
    CHECK(message(folder / name, true).empty());
  }
  fs::create_directory(folder / "empty");
  CHECK(message(folder / "empty", true).empty());
  fs::create_directories(folder / "home/work");
  checkpoint::test::write_text(folder / "text", "x");
  fs::create_directory(folder / "folder.h5");
  for (const char* name : {"home", "text", "folder.h5"})
    CHECK(contains(message(folder / name, true), "not be overwritten"));
  CHECK(contains(message(reader.path(), true), "not be overwritten"));
  CHECK(fs::exists(folder / "home/work"));
  CHECK(reader.verify().empty());
}

TEST_CASE("a damaged or partial checkpoint exports nothing") {
  const TempFolder folder;
  const checkpoint::Reader reader(write_model(folder.path(), checkpoint::test::tiny_gpt2()));
  const checkpoint::StoredPiece& piece = reader.manifest().pieces.back();
  File::open_write(reader.path() / piece.file).write_at(piece.offset, std::as_bytes(std::span("x", 1)));
  checkpoint::Manifest manifest = checkpoint::test::sample_manifest(20);
  const checkpoint::Reader partial(checkpoint::test::write_checkpoint(folder.path(), manifest, {}));
  for (const checkpoint::Reader* bad : {&reader, &partial}) {
    CHECK(contains(checkpoint::test::error_of(ErrorKind::input,
                                              [&] { export_hf(ExportSource(bad->path()), folder / "hf"); }),
                   bad->path().string()));
    CHECK(contains(checkpoint::test::error_of(ErrorKind::input,
                                              [&] { export_h5(ExportSource(bad->path()), folder / "m.h5"); }),
                   bad->path().string()));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 2);
}

}  // namespace
}  // namespace dt::convert
