#include <catch2/catch.hpp>

#include "base/hdf5/hdf5_file.hpp"
#include "base/hdf5/object_header.hpp"
#include "base/test_folder.hpp"
#include "support/hdf5_hostile.hpp"
#include "support/hdf5_reference.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::content;
using dt_test::Folder;
using dt_test::put;

TEST_CASE("files of other programs are read, and what cannot be is refused where it is asked for") {
  // make_foreign_h5.py made the file.
  const Hdf5Reader reader(fs::path(DT_TESTS_DIR) / "base" / "foreign.h5");
  CHECK(reader.read_all<std::int32_t>("/good") == std::vector<std::int32_t>{1, 2, 3});
  CHECK(reader.info("/half").dtype == DType::f16);
  CHECK(caught([&] {
          reader.string_attribute("/", "variable");
        }).says("foreign.h5: its attribute variable is a string of variable length"));
  CHECK(reader.string_attribute("/", "fixed") == "fixed");
  CHECK(reader.int_attribute("/good", "small") == 7);
  const auto refusal = [&](const char* dataset) {
    const auto error = caught([&] { reader.info(dataset); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says("foreign.h5 dataset " + std::string(dataset)));
    return error.message;
  };
  CHECK(refusal("/group/big_endian").find("element type") != std::string::npos);
  CHECK(refusal("/text").find("element type") != std::string::npos);
  CHECK(refusal("/chunked").find("not contiguous") != std::string::npos);
  CHECK(refusal("/unwritten").find("never written") != std::string::npos);
  CHECK(caught([&] { reader.info("/alias"); }).says("has no dataset /alias"));
  CHECK(reader.dataset_paths() ==
        std::vector<std::string>{"/chunked", "/good", "/group/big_endian", "/half", "/text", "/unwritten"});
}

TEST_CASE("dt reads what the HDF5 library reads of files of several versions and programs") {
  // make_versions_h5.py and make_foreign_h5.py made the files.
  const fs::path here = fs::path(DT_TESTS_DIR) / "base";
  for (const char* name : {"foreign.h5", "versions/hdf5-1.14.6-earliest.h5", "versions/hdf5-1.14.6-v108.h5",
                           "versions/hdf5-1.14.6-v114.h5"}) {
    INFO(name);
    CHECK(dt_test::hdf5_difference(here / name) == "");
  }
  // Debian 12's library does not open files of HDF5 2.0's own format.
  const Hdf5Reader known(here / "versions" / "hdf5-1.14.6-v114.h5");
  const Hdf5Reader newest(here / "versions" / "hdf5-2.0.0-v200.h5");
  CHECK(newest.dataset_paths() == known.dataset_paths());
  CHECK(newest.read_all<float>("/many/layers.59.attention.query.weight") == std::vector<float>{59, 59});
  CHECK(newest.read_all<double>("/types/f8") == known.read_all<double>("/types/f8"));
  CHECK(newest.int_attribute("/many/layers.7.attention.query.weight", "attribute 39") == 39);
  CHECK(newest.string_attribute("/", "format") == "dt-test");
}

TEST_CASE("dt reads what the HDF5 library reads of golden files") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(DT_TESTS_DIR) / "golden")) {
    if (entry.path().extension() != ".h5") continue;
    INFO(entry.path());
    CHECK(dt_test::hdf5_difference(entry.path()) == "");
    ++count;
  }
  CHECK(count > 20);
}

TEST_CASE("dt reads what the HDF5 library reads of its own files, whatever their size") {
  const Folder folder;
  for (const int count : {0, 1, 8, 9, 100, 3000}) {
    Hdf5Writer writer(folder / "a.h5", static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("/weights/layers.{}.attention.query.weight@{}", i / 4, i % 4);
      writer.declare(name, DType::u16, {1 + static_cast<std::uint64_t>(i % 3)});
      if (i < 200) writer.set_attribute(name, "number", std::int64_t{i});
      if (count < 200) writer.set_attribute("/", fmt::format("text {}", i), std::string(i * 40U, 'x'));
    }
    writer.close();
    INFO(count);
    CHECK(dt_test::hdf5_difference(folder / "a.h5") == "");
  }
}

TEST_CASE("hostile datasets, attributes and groups are refused, and neighbours are read") {
  const Folder folder;
  dt_test::write_hostile_hdf5(folder / "a.h5", 2000);
  const Hdf5Reader reader(folder / "a.h5");
  const auto refusal = [&](const char* dataset) {
    const auto error = caught([&] { reader.info(dataset); });
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says("a.h5"));
    return error.message;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refusal("/overflow"), Contains("more than 2^64 bytes"));
  CHECK_THAT(refusal("/virtual"), Contains("/virtual is not contiguous"));
  CHECK_THAT(refusal("/external"), Contains("/external is not contiguous"));
  CHECK_THAT(caught([&] { reader.string_attribute("/", "variable"); }).message, Contains("variable length"));
  CHECK(reader.read_all<std::uint32_t>("/good") == std::vector<std::uint32_t>{0, 1, 2, 3});
  std::string bottom = "/deep";
  for (int i = 0; i < 2000; ++i) bottom += "/g";
  bottom += "/bottom";
  CHECK(reader.info(bottom).bytes == 1);
  CHECK_THAT(refusal("/loop/loop/loop/loop"), Contains("has no dataset"));
  CHECK(reader.dataset_paths() ==
        std::vector<std::string>{bottom, "/external", "/good", "/overflow", "/virtual"});
}

TEST_CASE("sound files of a kind that dt does not read are not called damaged") {
  const Folder folder;
  const fs::path here = fs::path(DT_TESTS_DIR) / "base";
  const std::string sound = read_file(here / "versions/hdf5-1.14.6-earliest.h5");
  const auto refusal = [&](const std::string& text) {
    put(folder / "a.h5", text);
    const auto error = caught([&] { Hdf5Reader(folder / "a.h5"); });
    CHECK(error.kind == ErrorKind::input);
    CHECK_FALSE(error.says("damaged"));
    return error.message;
  };
  using Catch::Contains;
  CHECK_THAT(refusal(std::string(1024, '\0') + sound), Contains("a user block of 1024 bytes"));
  CHECK_THAT(refusal(std::string(2000, '\0')), Contains("is not an HDF5 file"));
  const auto with = [&](std::size_t at, char value) {
    std::string changed = sound;
    changed[at] = value;
    return changed;
  };
  CHECK_THAT(refusal(with(8, 4)), Contains("superblock has version 4"));
  CHECK_THAT(refusal(with(13, 4)), Contains("offsets have 4 bytes and its lengths 8 bytes"));
  CHECK_THAT(refusal(with(25, 2)), Contains("base address is 512"));
}

TEST_CASE("a shape with a 0 has no elements, however large its other extents are") {
  const Folder folder;
  put(folder / "a", "some bytes");
  const File file = File::open_read(folder / "a");
  const hdf5::MetadataReader source(file);
  std::vector<std::byte> message = {std::byte{2}, std::byte{3}, std::byte{0}, std::byte{1}};
  message.resize(4 + 16, std::byte{0xFF});
  message.resize(4 + 24, std::byte{0});
  CHECK(hdf5::parse_dataspace(source, message).elements == 0);
  message.back() = std::byte{1};
  CHECK(caught([&] { hdf5::parse_dataspace(source, message); }).says("more than 2^64"));
}

TEST_CASE("messages of an object count by the memory that they take") {
  const Folder folder;
  const std::uint32_t num_messages = 60000, bytes = 4 * num_messages;  // empty messages
  std::string text = "OHDR\2\2";                                       // the size takes four bytes
  const auto append = [&](std::uint32_t number) {
    for (int i = 0; i < 4; ++i) text += static_cast<char>(number >> 8 * i & 255U);
  };
  append(bytes);
  for (std::uint32_t i = 0; i < num_messages; ++i) append(1);  // the type, no content, no flags
  append(hdf5::checksum(std::as_bytes(std::span(text))));
  put(folder / "a", text);
  const File file = File::open_read(folder / "a");
  hdf5::MetadataReader source(file);
  CHECK(caught([&] { hdf5::ObjectHeader(source, 0); }).says("larger than the file of"));
}
