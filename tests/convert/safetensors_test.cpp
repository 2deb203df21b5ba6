#include "convert/safetensors.hpp"

#include <catch2/catch.hpp>

#include "checkpoint/sample.hpp"

namespace dt::convert {
namespace {

using checkpoint::test::contains;
using checkpoint::test::TempFolder;

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return little_endian(header.size()) + header + std::string(data_bytes, '\0');
}

TEST_CASE("a written head is read back, aligned and without gaps") {
  const TempFolder folder;
  std::vector<SafeTensor> tensors = {{"b", DType::f64, "", {3, 2}},
                                     {"a\"quoted\"", DType::bf16, "", {5}},
                                     {"scalar", DType::f32, "", Shape{}},
                                     {"empty", DType::u8, "", {0, 4}}};
  const std::string head = safetensors_head(tensors);
  CHECK(head.size() % 8 == 0);
  CHECK(contains(head, R"("__metadata__":{"format":"pt"})"));
  CHECK(tensors[0].begin == head.size());
  CHECK(tensors[3].end == head.size() + 48 + 10 + 4);
  checkpoint::test::write_text(folder / "m.safetensors", head + std::string(62, 'x'));
  const SafetensorsFile file(folder / "m.safetensors");
  REQUIRE(file.tensors().size() == 4);
  for (const SafeTensor& t : tensors) {
    const SafeTensor& back = file.tensors().at(t.name);
    CHECK(back.dtype == t.dtype);
    CHECK(back.shape == t.shape);
    CHECK(back.begin == t.begin);
    CHECK(back.end == t.end);
  }
}

TEST_CASE("types that dt does not have are listed, not refused") {
  const TempFolder folder;
  checkpoint::test::write_text(folder / "m",
                               file_of(R"({"mask":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]},)"
                                       R"("new":{"dtype":"F4_NEW","shape":[4],"data_offsets":[4,6]}})",
                                       6));
  const SafetensorsFile file(folder / "m");
  CHECK_FALSE(file.tensors().at("mask").dtype.has_value());
  CHECK(file.tensors().at("new").dtype_name == "F4_NEW");
}

TEST_CASE("malformed files are refused by name") {
  struct Case {
    std::string content;
    const char* message;
  };
  const auto one = [](const std::string& fields, std::size_t bytes) {
    return file_of("{\"w\":{" + fields + "}}", bytes);
  };
  const std::string big = "9223372036854775807";
  const std::vector<Case> cases = {
      {"", "0 bytes"},
      {"1234567", "7 bytes"},
      {little_endian(1), "states a header of 1 bytes"},
      {little_endian(UINT64_MAX) + "{}", "states a header"},
      {little_endian(100'000'001) + "{}", "states a header"},
      {file_of("", 0), "not valid JSON"},
      {file_of("{", 0), "not valid JSON"},
      {file_of("[]", 0), "not a JSON object"},
      {file_of("{} x", 0), "not valid JSON"},
      {file_of("\xff\xfe{}", 0), "not valid JSON"},
      {file_of(R"({"w":7})", 0), "'w' is not an object"},
      {file_of("{}", 3), "its tensors end at byte 10, but the file ends at byte 13"},
      {one(R"("shape":[1],"data_offsets":[0,4])", 4), "'w.dtype' is missing"},
      {one(R"("dtype":7,"shape":[1],"data_offsets":[0,4])", 4), "'w.dtype' is not a string"},
      {one(R"("dtype":"F32","data_offsets":[0,4])", 4), "'w.shape' is missing"},
      {one(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])", 4), "'w.shape[0]' is not a 64-bit integer"},
      {one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4), "negative"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0])", 4), "not a [begin, end] pair"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])", 4), "not a [begin, end] pair"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])", 4), "is not an unsigned integer"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 4),
       "ends at byte 8 of the data, but the data has 4 bytes"},
      {one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4), "does not match its shape and type"},
      {one(R"("dtype":"F32","shape":[)" + big + "," + big + R"(],"data_offsets":[0,4])", 4),
       "does not match its shape and type"},
      {one(R"("dtype":"F32","shape":[)" + big + R"(,0],"data_offsets":[0,4])", 4),
       "does not match its shape and type"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615])", 4), "ends at byte"},
      {one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", 8), "begins at byte"},
      {file_of(
           R"({"v":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
           5),
       "begins at byte"},
      {file_of(
           R"({"v":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"w":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})",
           7),
       "begins at byte"},
  };
  const TempFolder folder;
  for (const Case& c : cases) {
    checkpoint::test::write_text(folder / "bad.safetensors", c.content);
    const std::string message = checkpoint::test::error_of(
        ErrorKind::input, [&] { SafetensorsFile file(folder / "bad.safetensors"); });
    INFO(c.content << " gives: " << message);
    CHECK(contains(message, "bad.safetensors"));
    CHECK(contains(message, c.message));
  }
}

TEST_CASE("any cut and any changed byte of a file is refused or harmless, never a crash") {
  const TempFolder folder;
  std::vector<SafeTensor> tensors = {{"a", DType::f32, "", {2, 3}}, {"b", DType::f16, "", {4}}};
  const std::string head = safetensors_head(tensors);
  const std::string good = head + std::string(32, 'x');
  for (std::size_t i = 0; i < good.size(); ++i) {
    checkpoint::test::write_text(folder / "m", good.substr(0, i));
    CHECK_THROWS_AS(SafetensorsFile(folder / "m"), Error);
  }
  for (std::size_t i = 0; i < head.size(); ++i) {
    for (const char byte : {'\0', '"', '9', '-', '}', '\x7f', '\xff'}) {
      std::string bad = good;
      bad[i] = byte;
      checkpoint::test::write_text(folder / "m", bad);
      try {
        const SafetensorsFile file(folder / "m");
        for (const auto& [name, tensor] : file.tensors()) CHECK(tensor.end <= good.size());
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
  }
}

}  // namespace
}  // namespace dt::convert
