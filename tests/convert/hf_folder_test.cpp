// Hugging Face folders written by other programs.

#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "checkpoint/sample.hpp"
#include "convert/safetensors.hpp"
#include "convert/weight_source.hpp"
#include "model/hf/hf_config.hpp"
#include "model/hf/hf_names.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;

struct FileTensor {
  SafeTensor head;
  std::string data;
};

/// Returns elements of which element e is e % 128, exact in every float type.
std::string elements(DType dtype, std::int64_t count) {
  std::string data;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto value = static_cast<double>(e % 128);
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, 4);
    // Small integers convert by a rebased exponent and a cut mantissa.
    const auto f16 =
        static_cast<std::uint16_t>(value == 0 ? 0 : ((bits >> 23) - 112) << 10 | (bits >> 13 & 1023));
    const auto bf16 = static_cast<std::uint16_t>(bits >> 16);
    if (dtype == DType::f64) data.append(reinterpret_cast<const char*>(&value), 8);
    if (dtype == DType::f32) data.append(reinterpret_cast<const char*>(&single), 4);
    if (dtype == DType::f16) data.append(reinterpret_cast<const char*>(&f16), 2);
    if (dtype == DType::bf16) data.append(reinterpret_cast<const char*>(&bf16), 2);
  }
  return data;
}

std::vector<FileTensor> model_tensors(const model::ModelSpec& spec, DType dtype) {
  std::vector<FileTensor> tensors;
  for (const model::HfTensor& t : model::hf_tensors(spec)) {
    tensors.push_back({{t.name, dtype, "", t.shape}, elements(dtype, t.shape.numel())});
  }
  return tensors;
}

void write_file(const fs::path& path, const std::vector<FileTensor>& tensors) {
  std::vector<SafeTensor> heads;
  std::string data;
  for (const FileTensor& t : tensors) {
    heads.push_back(t.head);
    data += t.data;
  }
  const std::string head = safetensors_head(heads);
  checkpoint::test::write_text(path, head + data);
}

void write_folder(const fs::path& folder, const model::ModelSpec& spec,
                  const std::vector<FileTensor>& tensors) {
  fs::create_directories(folder);
  checkpoint::test::write_text(folder / "config.json", model::hf_config(spec));
  write_file(folder / "model.safetensors", tensors);
}

double element(const WeightSource& source, const std::string& param, std::int64_t index) {
  const model::ParameterTable table(source.spec());
  Piece piece = Piece::whole(table.params()[static_cast<std::size_t>(table.find(param))].shape);
  piece.begin = index;
  piece.end = index + 1;
  float value = -1;
  source.read(param, piece, host_tensor(value));
  return value;
}

/// Checks a few values of GPT-2: a table, a bias, and k's part of the stacked and transposed projection.
void check_spots(const WeightSource& source) {
  CHECK(element(source, "embedding.token.weight", 5) == 5);
  CHECK(element(source, "layers.0.attention.v.bias", 2) == 10);
  CHECK(element(source, "layers.0.attention.k.weight", 1 * 4 + 3) == 3 * 12 + 4 + 1);
  CHECK(element(source, "layers.0.mlp.down.weight", 3 * 6 + 5) == 5 * 4 + 3);
}

TEST_CASE("folders of every float type are read") {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    INFO(dtype_name(dtype));
    const TempFolder folder;
    write_folder(folder.path(), checkpoint::test::tiny_gpt2(),
                 model_tensors(checkpoint::test::tiny_gpt2(), dtype));
    check_spots(*open_weights(folder.path()));
  }
}

TEST_CASE("older names and tensors that dt does not use are fine") {
  const TempFolder folder;
  std::vector<FileTensor> tensors = model_tensors(checkpoint::test::tiny_gpt2(), DType::f32);
  for (FileTensor& t : tensors) t.head.name = t.head.name.substr(std::string("transformer.").size());
  tensors.push_back({{"h.0.attn.bias", DType::u8, "", {3, 3}}, std::string(9, '\1')});
  tensors.push_back({{"lm_head.weight", DType::f32, "", {7, 4}}, elements(DType::f32, 28)});
  write_folder(folder.path(), checkpoint::test::tiny_gpt2(), tensors);
  check_spots(*open_weights(folder.path()));
}

TEST_CASE("a head of its own unties a model whose config ties it, and is named") {
  const model::ModelSpec spec = checkpoint::test::tiny_gpt2();
  const auto folder_with = [&](const TempFolder& folder, std::string head, DType dtype) {
    std::vector<FileTensor> tensors = model_tensors(spec, DType::f32);
    tensors.push_back({{"lm_head.weight", dtype, "", {7, 4}}, std::move(head)});
    write_folder(folder.path(), spec, tensors);
    return open_weights(folder.path());
  };
  const TempFolder same, of_16_bits, other;
  CHECK(folder_with(same, elements(DType::f32, 28), DType::f32)->spec().tied);
  CHECK(folder_with(of_16_bits, elements(DType::bf16, 28), DType::bf16)->remark().empty());
  std::string head = elements(DType::f32, 28);
  head.replace(27 * 4, 4, elements(DType::f32, 2).substr(4));
  const auto source = folder_with(other, head, DType::f32);
  CHECK_FALSE(source->spec().tied);
  CHECK(contains(source->remark(), "lm_head.weight and transformer.wte.weight hold different values"));
  CHECK(element(*source, "embedding.token.weight", 27) == 27);
  CHECK(element(*source, "head.weight", 27) == 1);
}

TEST_CASE("a tied model may hold its table under the head's name alone") {
  const TempFolder folder;
  std::vector<FileTensor> tensors = model_tensors(checkpoint::test::tiny_gpt2(), DType::f32);
  for (FileTensor& t : tensors) {
    if (t.head.name == "transformer.wte.weight") t.head.name = "lm_head.weight";
  }
  write_folder(folder.path(), checkpoint::test::tiny_gpt2(), tensors);
  const auto source = open_weights(folder.path());
  CHECK(source->spec().tied);
  check_spots(*source);
}

TEST_CASE("generation_config.json says where a text ends") {
  const TempFolder folder;
  write_folder(folder.path(), checkpoint::test::tiny_gpt2(),
               model_tensors(checkpoint::test::tiny_gpt2(), DType::f32));
  const fs::path file = folder / "generation_config.json";
  checkpoint::test::write_text(file, R"({"eos_token_id": [5, 6], "pad_token_id": 0})");
  const model::SpecialTokens own = checkpoint::test::tiny_gpt2().special;
  CHECK(open_weights(folder.path())->spec().special == model::SpecialTokens{own.bos, {5, 6}, own.pad});
  checkpoint::test::write_text(file, R"({"do_sample": true})");
  CHECK(open_weights(folder.path())->spec().special == own);
}

TEST_CASE("shards are read through their index") {
  const TempFolder folder;
  const std::vector<FileTensor> tensors = model_tensors(checkpoint::test::tiny_gpt2(), DType::f32);
  write_folder(folder.path(), checkpoint::test::tiny_gpt2(), tensors);
  fs::remove(folder / "model.safetensors");
  const std::vector<std::string> names = {"model-00001-of-00002.safetensors",
                                          "model-00002-of-00002.safetensors"};
  nlohmann::json index;
  std::vector<FileTensor> shards[2];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    shards[i % 2].push_back(tensors[i]);
    index["weight_map"][tensors[i].head.name] = names[i % 2];
  }
  for (std::size_t s : {0, 1}) write_file(folder / names[s], shards[s]);
  checkpoint::test::write_text(folder / "model.safetensors.index.json", index.dump());
  check_spots(*open_weights(folder.path()));

  const auto message = [&] {
    return checkpoint::test::error_of(ErrorKind::input, [&] { open_weights(folder.path()); });
  };
  fs::remove(folder / names[1]);
  CHECK(contains(message(), names[1]));
  index["weight_map"][tensors[1].head.name] = "../" + names[1];
  checkpoint::test::write_text(folder / "model.safetensors.index.json", index.dump());
  CHECK(contains(message(), "not a plain file name"));
  checkpoint::test::write_text(folder / "model.safetensors.index.json", "{\"weight_map\":");
  CHECK(contains(message(), "index.json: line 1"));
  fs::remove(folder / "model.safetensors.index.json");
  CHECK(contains(message(), "holds neither model.safetensors nor"));
}

TEST_CASE("weights that do not fit the config are named") {
  const auto message = [](const std::function<void(std::vector<FileTensor>&)>& change) {
    const TempFolder folder;
    std::vector<FileTensor> tensors = model_tensors(checkpoint::test::tiny_gpt2(), DType::f32);
    change(tensors);
    write_folder(folder.path(), checkpoint::test::tiny_gpt2(), tensors);
    return checkpoint::test::error_of(ErrorKind::input, [&] { open_weights(folder.path()); });
  };
  CHECK(
      contains(message([](auto& t) { t.erase(t.begin() + 2); }), "'transformer.h.0.ln_1.weight' is missing"));
  CHECK(contains(message([](auto& t) {
                   t[2].head.shape = {2, 2};
                 }),
                 "'transformer.h.0.ln_1.weight' has shape [2, 2]"));
  CHECK(contains(message([](auto& t) { t[2].head.dtype = DType::u32; }), "has type U32"));
  CHECK(contains(message([](auto& t) { t.clear(); }), "layers, but the files hold 0 tensors"));
}

TEST_CASE("a path that holds no weights says what it is") {
  const TempFolder folder;
  const auto message = [](const fs::path& path) {
    return checkpoint::test::error_of(ErrorKind::input, [&] { open_weights(path); });
  };
  CHECK(contains(message(folder / "none"), "does not exist"));
  CHECK(contains(message(folder.path()), "not a checkpoint"));
  fs::create_directory(folder / "checkpoints");
  CHECK(contains(message(folder.path()), "run directory"));
  checkpoint::test::write_text(folder / "config.json", "{");
  CHECK(contains(message(folder.path()), "config.json"));
}

}  // namespace
}  // namespace dt::convert
