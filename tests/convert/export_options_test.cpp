#include <catch2/catch.hpp>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/hdf5/hdf5_file.hpp"
#include "base/numeric/dtype.hpp"
#include "convert/export.hpp"
#include "convert/export_sample.hpp"
#include "convert/safetensors.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;
using test::all_kinds;
using test::salt_of;
using test::Sample;
using test::value_of;
using test::write;

std::string bytes_of(const SafetensorsFile& file, const std::string& tensor) {
  const SafeTensor& t = file.tensors().at(tensor);
  std::string bytes(t.end - t.begin, '\0');
  file.read(t, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
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
    CHECK(before + first_bytes > bound);  // a smaller tensor would have joined the shard before
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
  for (const std::string kind : {checkpoint::kind_first_moment, checkpoint::kind_second_moment}) {
    // A checkpoint that has these moments as weights exports the same bytes.
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
    const std::string message = checkpoint::test::error_of(ErrorKind::input, [&] {
      is_h5 ? export_h5(source, folder / "m.h5", {.with_optimizer = true})
            : export_hf(source, folder / "hf", {.with_optimizer = true});
    });
    CHECK(contains(message, "has no optimizer state"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a progress callback may end an export: nothing is left") {
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
    return checkpoint::test::error_of(ErrorKind::input,
                                      [&] {
                                        path.extension() == ".h5"
                                            ? export_h5(source, path, {.overwrite = true})
                                            : export_hf(source, path, {.overwrite = true});
                                      })
        .empty();
  };
  checkpoint::test::write_text(folder / "notes.h5", "my notes");
  checkpoint::test::write_text(folder / "empty.h5", "");
  CHECK_FALSE(replaces(folder / "notes.h5"));
  CHECK(read_file(folder / "notes.h5") == "my notes");
  CHECK(replaces(folder / "empty.h5"));
  CHECK(replaces(folder / "empty.h5"));
  fs::copy_file(folder / "step-00000010.g1/rank-00000.h5", folder / "rank.h5");
  CHECK_FALSE(replaces(folder / "rank.h5"));
  fs::create_directory(folder / "project");
  checkpoint::test::write_text(folder / "project/config.json", "{}");
  CHECK_FALSE(replaces(folder / "project"));
  checkpoint::test::write_text(folder / "project/model.safetensors", "");
  fs::create_directory(folder / "project/src");
  CHECK_FALSE(replaces(folder / "project"));
  fs::remove(folder / "project/src");
  CHECK(replaces(folder / "project"));
}

}  // namespace
}  // namespace dt::convert
