#include "convert/import.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "base/system/host.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/tokenizer_files.hpp"
#include "convert/export.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;
using Tensors = std::map<std::string, std::string>;  // bytes by name

model::ModelSpec tiny_llama(bool tied) {
  model::ModelSpec s = model::load_model_spec("llama-tiny");
  s.vocabulary = 11;
  s.hidden = 8;
  s.query_heads = 4;
  s.key_value_heads = 2;
  s.head_dim = 2;
  s.mlp_hidden = 10;
  s.tied = tied;
  return s;
}

model::ModelSpec gpt2(bool tied) {
  model::ModelSpec s = checkpoint::test::tiny_gpt2();
  s.tied = tied;
  return s;
}

/// Writes random bytes, so that NaNs and subnormals are among them, in `num_shards` files.
void write_hf(const fs::path& folder, const model::ModelSpec& spec, DType dtype, std::size_t num_shards) {
  fs::create_directories(folder);
  checkpoint::test::write_text(folder / "config.json", model::hf_config(spec));
  std::vector<std::vector<SafeTensor>> shards(num_shards);
  const std::vector<model::HfTensor> tensors = model::hf_tensors(spec);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    shards[i % num_shards].push_back({tensors[i].name, dtype, "", tensors[i].shape});
  nlohmann::json index;
  std::mt19937_64 random(3);
  for (std::size_t s = 0; s < num_shards; ++s) {
    const std::string name = num_shards == 1
                                 ? "model.safetensors"
                                 : fmt::format("model-{:05}-of-{:05}.safetensors", s + 1, num_shards);
    std::string text = safetensors_head(shards[s]);
    text.resize(shards[s].back().end);
    for (std::size_t i = shards[s].front().begin; i < text.size(); ++i) text[i] = static_cast<char>(random());
    checkpoint::test::write_text(folder / name, text);
    for (const SafeTensor& t : shards[s]) index["weight_map"][t.name] = name;
  }
  if (num_shards > 1) checkpoint::test::write_text(folder / "model.safetensors.index.json", index.dump());
}

Tensors tensors_in(const fs::path& folder) {
  Tensors tensors;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const SafetensorsFile file(entry.path());
    for (const auto& [name, tensor] : file.tensors()) {
      std::string bytes(tensor.end - tensor.begin, '\0');
      file.read(tensor, 0, std::as_writable_bytes(std::span(bytes)));
      tensors[tensor.dtype_name + " " + name + tensor.shape.to_string()] = bytes;
    }
  }
  return tensors;
}

TEST_CASE("an imported model merges into the tensors that it was, bit for bit") {
  for (const model::ModelSpec& spec : {gpt2(true), gpt2(false), tiny_llama(true), tiny_llama(false)}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      for (const std::size_t shards : {1, 3}) {
        INFO(spec.family << (spec.tied ? " tied " : " untied ") << dtype_name(dtype) << ", " << shards);
        const TempFolder folder;
        write_hf(folder / "hf", spec, dtype, shards);
        std::uint64_t written = 0;
        const HfFolder source(folder / "hf");
        const checkpoint::Manifest manifest =
            import_hf(source, folder / "imported", [&](std::uint64_t bytes) { written += bytes; });
        CHECK(written == weight_bytes(source));
        CHECK(manifest.model == spec);
        CHECK(manifest.state.step == 0);
        CHECK(checkpoint::verify_checkpoint(folder / "imported").empty());
        export_hf(ExportSource(folder / "imported"), folder / "merged", {});
        CHECK(tensors_in(folder / "merged") == tensors_in(folder / "hf"));
      }
    }
  }
}

TEST_CASE("the tokenizer's files go along, under their digests") {
  const TempFolder folder;
  write_hf(folder / "hf", gpt2(true), DType::f32, 1);
  checkpoint::test::write_text(folder / "hf/tokenizer.json", "{\"a\": 1}");
  checkpoint::test::write_text(folder / "hf/merges.txt", "");
  checkpoint::test::write_text(folder / "hf/README.md", "x");
  import_hf(HfFolder(folder / "hf"), folder / "imported");
  const checkpoint::Reader reader(folder / "imported");
  REQUIRE(checkpoint::stored_tokenizer_files(reader).size() == 2);
  export_hf(ExportSource(folder / "imported"), folder / "merged", {});
  CHECK(read_file(folder / "merged/tokenizer.json") == "{\"a\": 1}");
  CHECK(read_file(folder / "merged/merges.txt").empty());
  CHECK_FALSE(fs::exists(folder / "merged/README.md"));
  checkpoint::test::write_text(folder / "imported/tokenizer.json", "{\"a\": 2}");
  CHECK(checkpoint::verify_checkpoint(folder / "imported").size() == 1);
  CHECK(contains(
      error_of(ErrorKind::input, [&] { export_hf(ExportSource(folder / "imported"), folder / "again", {}); }),
      "tokenizer.json"));
  CHECK_FALSE(fs::exists(folder / "again"));
}

TEST_CASE("config.json and generation_config.json of an export name the same ends of a text") {
  using Json = nlohmann::json;
  struct Case {
    Json in_config, in_generation;     // values in the folder's files; null: no such file
    std::optional<std::int64_t> data;  // the token that ends the data's documents
    Json expected;
  };
  for (const Case& c : {Case{5, nullptr, {}, 5}, Case{nullptr, nullptr, 3, 3}, Case{5, nullptr, 3, 3},
                        Case{5, {5, 6}, {}, {5, 6}}, Case{{5, 6}, nullptr, 6, {5, 6}},
                        Case{5, {4, 6}, 6, {4, 6}}, Case{5, {4, 6}, 3, {3, 4, 6}}}) {
    INFO(c.in_config << " " << c.in_generation);
    const TempFolder folder;
    write_hf(folder / "hf", gpt2(true), DType::f32, 1);
    Json config = Json::parse(read_file(folder / "hf/config.json"));
    config["eos_token_id"] = c.in_config;
    config["pad_token_id"] = 2;
    checkpoint::test::write_text(folder / "hf/config.json", config.dump());
    if (!c.in_generation.is_null()) {
      const Json generation = {{"eos_token_id", c.in_generation}, {"temperature", 0.5}};
      checkpoint::test::write_text(folder / "hf/generation_config.json", generation.dump());
    }
    import_hf(HfFolder(folder / "hf"), folder / "imported");
    export_hf(ExportSource(folder / "imported"), folder / "merged", {.end_of_text = c.data});
    const Json merged = Json::parse(read_file(folder / "merged/config.json"));
    const Json generation = Json::parse(read_file(folder / "merged/generation_config.json"));
    CHECK(merged.at("eos_token_id") == c.expected);
    CHECK(merged.at("pad_token_id") == 2);
    CHECK(generation.at("eos_token_id") == c.expected);
    if (!c.in_generation.is_null()) CHECK(generation.at("temperature") == 0.5);
  }
}

TEST_CASE("an export keeps every end of a mixture's sources") {
  using Ends = std::vector<std::int64_t>;
  const auto exported = [](const Ends& own, const Ends& sources, std::optional<std::int64_t> first) {
    model::SpecialTokens tokens;
    tokens.eos = own;
    return exported_special_tokens(tokens, sources, first).eos;
  };
  CHECK(exported({5, 6}, {7}, 6) == Ends{5, 6});
  CHECK(exported({5, 6}, {7}, {}) == Ends{6, 5});
  CHECK(exported({5, 6}, {6, 7}, {}) == Ends{5, 6, 7});
  CHECK(exported({5}, {7}, 6) == Ends{6});
  CHECK(exported({}, {7}, {}) == Ends{7});
}

TEST_CASE("a run cannot resume from a checkpoint of weights alone") {
  const TempFolder folder;
  write_hf(folder / "hf", gpt2(true), DType::f32, 1);
  import_hf(HfFolder(folder / "hf"), folder / "imported");
  CHECK(contains(
      error_of(ErrorKind::input,
               [&] { checkpoint::require_optimizer_state(checkpoint::Reader(folder / "imported")); }),
      "--init-from"));
  checkpoint::require_optimizer_state(checkpoint::Reader(checkpoint::test::write_small(folder.path())));
}

TEST_CASE("a name that is taken, or a later step's, is refused") {
  const TempFolder folder;
  write_hf(folder / "hf", gpt2(true), DType::f32, 1);
  const HfFolder source(folder / "hf");
  const auto refusal = [&](const char* name) {
    return error_of(ErrorKind::input, [&] { import_hf(source, folder / name); });
  };
  CHECK(contains(refusal("hf"), "already exists"));
  CHECK(contains(refusal("step-00000005.g1"), "step-00000000.g1"));
  CHECK(refusal("step-00000000.g2").empty());
  CHECK(checkpoint::load_manifest(folder / "step-00000000.g2").generation == 2);
  fs::resize_file(folder / "hf/model.safetensors", fs::file_size(folder / "hf/model.safetensors") - 1);
  CHECK(contains(refusal("cut"), "shrank") == false);  // whole at the opening, truncated when read
  CHECK_FALSE(fs::exists(folder / "cut"));
}

TEST_CASE("a transposed tensor larger than a block is imported in little memory") {
  model::ModelSpec spec = gpt2(true);
  spec.hidden = 512;
  spec.query_heads = spec.key_value_heads = 8;
  spec.head_dim = 64;
  spec.mlp_hidden = 60'001;  // 123 MB
  const TempFolder folder;
  write_hf(folder / "hf", spec, DType::f32, 1);
  const HfFolder source(folder / "hf");
  reset_peak_resident();
  [[maybe_unused]] const std::uint64_t before = peak_resident_bytes();
  import_hf(source, folder / "imported");
#if !defined(__SANITIZE_ADDRESS__)  // the sanitizer keeps freed memory for a while
  CHECK(peak_resident_bytes() < before + (std::uint64_t{80} << 20));
#endif
  export_hf(ExportSource(folder / "imported"), folder / "merged", {});
  CHECK((tensors_in(folder / "merged") == tensors_in(folder / "hf")));
}

}  // namespace
}  // namespace dt::convert
