#include "base/hdf5/hdf5_file.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/hdf5/object_header.hpp"
#include "base/test_folder.hpp"
#include "support/hdf5_hostile.hpp"
#include "support/hdf5_reference.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;

namespace {

std::span<const std::byte> bytes_of(const auto& values) {
  return std::as_bytes(std::span(values));
}

/// Writes a file with one dataset of each element type and some attributes.
void write_example(const fs::path& path) {
  Hdf5Writer writer(path);
  writer.declare("/weights/layers.0.q", DType::f32, {3, 2});
  writer.declare("/weights/half", DType::bf16, {5});
  writer.declare("/offsets", DType::u64, {3});
  writer.set_attribute("/", "format", std::string("dt-test"));
  writer.set_attribute("/", "version", std::int64_t{2});
  writer.set_attribute("/weights/half", "rows", std::int64_t{5});
  writer.end_declarations();
  writer.write("/weights/layers.0.q", 0, bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6}));
  writer.write("/weights/half", 2, bytes_of(std::vector<std::uint16_t>{1, 2, 3, 4}));
  writer.write("/weights/half", 0, bytes_of(std::vector<std::uint16_t>{9}));
  writer.write("/offsets", 0, bytes_of(std::vector<std::uint64_t>{0, 10, UINT64_MAX}));
  writer.close();
}

}  // namespace

TEST_CASE("datasets and attributes read back as they were written") {
  const Folder folder;
  write_example(folder / "a.h5");
  const Hdf5Reader reader(folder / "a.h5");
  CHECK(reader.dataset_paths() ==
        std::vector<std::string>{"/offsets", "/weights/half", "/weights/layers.0.q"});
  const DatasetInfo& q = reader.info("/weights/layers.0.q");
  CHECK(q.dtype == DType::f32);
  CHECK(q.shape == std::vector<std::uint64_t>{3, 2});
  CHECK(q.bytes == 24);
  CHECK(reader.read_all<float>("/weights/layers.0.q") == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(reader.read_all<std::uint64_t>("/offsets").back() == UINT64_MAX);
  CHECK(reader.info("/weights/half").dtype == DType::bf16);
  std::vector<std::uint16_t> half(5);
  reader.read("/weights/half", 0, std::as_writable_bytes(std::span(half)));
  CHECK(half == std::vector<std::uint16_t>{9, 1, 2, 3, 4});
  CHECK(reader.string_attribute("/", "format") == "dt-test");
  CHECK(reader.int_attribute("/", "version") == 2);
  CHECK(reader.int_attribute("/weights/half", "rows") == 5);
  CHECK_FALSE(reader.string_attribute("/", "version").has_value());
  CHECK_FALSE(reader.int_attribute("/", "none").has_value());
  CHECK_FALSE(reader.int_attribute("/none", "none").has_value());
}

TEST_CASE("every element type is stored and recognised") {
  const Folder folder;
  const std::vector<DType> all = {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64,
                                  DType::i32, DType::u64, DType::u32,  DType::u16, DType::u8};
  Hdf5Writer writer(folder / "a.h5");
  for (const DType dtype : all) writer.declare("/" + std::string(dtype_name(dtype)), dtype, {4});
  writer.close();
  const Hdf5Reader reader(folder / "a.h5");
  for (const DType dtype : all) {
    const DatasetInfo& info = reader.info("/" + std::string(dtype_name(dtype)));
    CHECK(info.dtype == dtype);
    CHECK(info.bytes == 4 * dtype_bytes(dtype));
  }
}

TEST_CASE("payloads lie in the file at the stated, aligned offsets") {
  const Folder folder;
  Hdf5Writer writer(folder / "a.h5");
  for (int i = 0; i < 300; ++i) {
    writer.declare(fmt::format("/g{}/d{}", i % 7, i), i % 2 == 0 ? DType::u8 : DType::u32,
                   {1 + static_cast<unsigned>(i)});
  }
  writer.end_declarations();
  for (int i = 0; i < 300; ++i) {
    const std::string name = fmt::format("/g{}/d{}", i % 7, i);
    writer.write(name, 0,
                 bytes_of(std::vector<std::uint8_t>(writer.info(name).bytes, static_cast<std::uint8_t>(i))));
  }
  writer.close();
  const std::string file = content(folder / "a.h5");
  const Hdf5Reader reader(folder / "a.h5");
  REQUIRE(reader.dataset_paths().size() == 300);
  for (const std::string& path : reader.dataset_paths()) {
    const DatasetInfo& info = reader.info(path);
    const int i = std::stoi(path.substr(path.find("/d") + 2));
    REQUIRE(info.offset % 64 == 0);
    REQUIRE(file.substr(info.offset, info.bytes) == std::string(info.bytes, static_cast<char>(i)));
  }
}

TEST_CASE("the metadata of many datasets lies before their payloads where their number is told") {
  const Folder folder;
  constexpr std::uint64_t count = 300, dataset_bytes = 10'000;
  const auto first_payload = [&](std::size_t told) {
    Hdf5Writer writer(folder / "a.h5", told);
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), end = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("/weights/layers.{}.attention.query.weight", i);
      writer.declare(name, DType::u8, {dataset_bytes});
      first = std::min(first, writer.info(name).offset);
      end = std::max(end, writer.info(name).offset + dataset_bytes);
    }
    writer.close();
    const std::uint64_t padding = 64 * count;
    return end - first < count * dataset_bytes + padding ? first : 0;
  };
  CHECK(first_payload(0) == 0);
  CHECK(first_payload(count) > 0);
  CHECK(first_payload(count) < count * 600);
}

TEST_CASE("empty datasets and scalars work") {
  const Folder folder;
  Hdf5Writer writer(folder / "a.h5");
  writer.declare("/empty", DType::f32, {0, 5});
  writer.declare("/scalar", DType::f64, {});
  writer.end_declarations();
  writer.write("/empty", 0, {});
  writer.write("/scalar", 0, bytes_of(std::vector<double>{2.5}));
  writer.close();
  const Hdf5Reader reader(folder / "a.h5");
  CHECK(reader.info("/empty").bytes == 0);
  CHECK(reader.info("/empty").shape == std::vector<std::uint64_t>{0, 5});
  CHECK(reader.read_all<float>("/empty").empty());
  CHECK(reader.info("/scalar").shape.empty());
  CHECK(reader.read_all<double>("/scalar") == std::vector<double>{2.5});
}

TEST_CASE("a file without datasets works") {
  const Folder folder;
  Hdf5Writer(folder / "a.h5").close();
  CHECK(Hdf5Reader(folder / "a.h5").dataset_paths().empty());
}

TEST_CASE("attributes may be empty, long and not ASCII") {
  const Folder folder;
  const std::string long_text(60'000, 'x');
  Hdf5Writer writer(folder / "a.h5");
  writer.set_attribute("/", "empty", std::string());
  writer.set_attribute("/", "long", long_text);
  writer.set_attribute("/", "utf8", std::string("naïve 中"));
  writer.set_attribute("/", "negative", std::int64_t{-7});
  writer.close();
  const Hdf5Reader reader(folder / "a.h5");
  CHECK(reader.string_attribute("/", "empty") == "");
  CHECK(reader.string_attribute("/", "long") == long_text);
  CHECK(reader.string_attribute("/", "utf8") == "naïve 中");
  CHECK(reader.int_attribute("/", "negative") == -7);
  Hdf5Writer too_long(folder / "b.h5");
  too_long.set_attribute("/", "long", std::string(100'000, 'x'));
  too_long.close();
  CHECK(caught([&] {
          Hdf5Reader(folder / "b.h5").string_attribute("/", "long");
        }).says("b.h5: its attribute long is larger than dt supports"));
}

TEST_CASE("a missing dataset and a wrong type are named") {
  const Folder folder;
  write_example(folder / "a.h5");
  const Hdf5Reader reader(folder / "a.h5");
  CHECK(caught([&] { reader.info("/none"); }).says("a.h5 has no dataset /none"));
  const auto error = caught([&] { reader.read_all<double>("/weights/layers.0.q"); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("dataset /weights/layers.0.q holds f32 elements; expected f64"));
  std::vector<std::byte> too_many(25);
  CHECK(caught([&] { reader.read("/weights/layers.0.q", 0, too_many); }).kind == ErrorKind::internal);
}

TEST_CASE("what is no HDF5 file is bad input that names the file") {
  const Folder folder;
  put(folder / "text", "this is no HDF5 file, but a text that is long enough to hold its header");
  put(folder / "empty", "");
  for (const char* name : {"text", "empty", "missing", "."}) {
    const auto error = caught([&] { Hdf5Reader reader(folder / name); });
    INFO(error.message);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says((folder / name).string()));
  }
}

TEST_CASE("a file cut anywhere is refused") {
  const Folder folder;
  write_example(folder / "a.h5");
  const std::string whole = content(folder / "a.h5");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    put(folder / "cut.h5", whole.substr(0, size));
    const auto error = caught([&] { Hdf5Reader reader(folder / "cut.h5"); });
    INFO(size << ": " << error.message);
    REQUIRE(error.kind == ErrorKind::input);
    if (size > 48) REQUIRE(error.says("is truncated"));
  }
}

TEST_CASE("damaged metadata is an error of input, never a crash") {
  const Folder folder;
  write_example(folder / "a.h5");
  const std::string whole = content(folder / "a.h5");
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x21);
    put(folder / "damaged.h5", damaged);
    const auto error = caught([&] { Hdf5Reader reader(folder / "damaged.h5"); });
    if (error.thrown) REQUIRE(error.kind == ErrorKind::input);
  }
}

TEST_CASE("a file whose writer did not close it cannot be opened") {
  const Folder folder;
  {
    Hdf5Writer writer(folder / "declared.h5");
    writer.declare("/a", DType::f32, {10});
  }
  {
    Hdf5Writer writer(folder / "laid_out.h5");
    writer.declare("/a", DType::f32, {10});
    writer.end_declarations();
    writer.write("/a", 0, bytes_of(std::vector<float>(10)));
  }
  const pid_t child = fork();
  if (child == 0) {
    Hdf5Writer writer(folder / "killed.h5");
    writer.declare("/a", DType::f32, {10});
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (const char* name : {"declared.h5", "laid_out.h5", "killed.h5"}) {
    const auto error = caught([&] { Hdf5Reader reader(folder / name); });
    INFO(name);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(name));
  }
}

TEST_CASE("misuse of a writer is caught") {
  const Folder folder;
  Hdf5Writer writer(folder / "a.h5");
  writer.declare("/a", DType::f32, {2});
  CHECK(caught([&] { writer.declare("/a", DType::f32, {2}); }).says("declared twice"));
  CHECK(caught([&] { writer.write("/a", 0, bytes_of(std::vector<float>(1))); }).says("before layout()"));
  CHECK(caught([&] { writer.set_attribute("/none", "x", std::int64_t{1}); }).says("attribute x of /none"));
  writer.end_declarations();
  CHECK(caught([&] { writer.declare("/b", DType::f32, {2}); }).says("after layout()"));
  CHECK(caught([&] { writer.write("/a", 4, bytes_of(std::vector<float>(2))); }).says("do not fit"));
  CHECK(caught([&] { writer.info("/b"); }).says("no dataset /b"));
}

TEST_CASE("a file that cannot be created is an environment error") {
  const Folder folder;
  const auto error = caught([&] { Hdf5Writer writer(folder / "none" / "a.h5"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("none/a.h5"));
}

TEST_CASE("a file is read though its file system has no locks, or another process holds one") {
  const Folder folder;
  write_example(folder / "a.h5");
  FileLock lock;
  REQUIRE(lock.try_lock(folder / "a.h5") == FileLock::Outcome::acquired);
  CHECK(Hdf5Reader(folder / "a.h5").dataset_paths().size() == 3);
}

TEST_CASE("nothing of HDF5's own is printed") {
  const Folder folder;
  put(folder / "bad", std::string(1000, 'x'));
  const dt_test::Captured captured(STDERR_FILENO);
  CHECK(caught([&] { Hdf5Reader reader(folder / "bad"); }).thrown);
  CHECK(captured.text().empty());
}

TEST_CASE("threads open and read at once") {
  const Folder folder;
  write_example(folder / "a.h5");
  const Hdf5Reader shared(folder / "a.h5");
  std::vector<std::thread> threads;
  std::vector<int> good(6);
  for (std::size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Hdf5Reader own(folder / "a.h5");
        good[t] +=
            shared.read_all<float>("/weights/layers.0.q") == own.read_all<float>("/weights/layers.0.q");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::vector<int>(good.size(), 50));
}
