#include "base/text/text.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

TEST_CASE("counts take decimal and binary suffixes") {
  CHECK(parse_count("0") == 0);
  CHECK(parse_count("-5") == -5);
  CHECK(parse_count("3K") == 3000);
  CHECK(parse_count("64Mi") == 67108864);
  CHECK(parse_count("2G") == 2'000'000'000);
  CHECK(parse_count("1Ti") == std::int64_t{1} << 40);
}

TEST_CASE("what is no count is a usage error that shows what is expected") {
  for (const char* text :
       {"", "x", "12x", "1.5", "1e6", "64MI", "64Mib", "K", "9223372036854775808", "10000000T", " 1", "+1"}) {
    const auto error = caught([&] { parse_count(text); });
    INFO(text);
    CHECK(error.thrown);
    CHECK(error.kind == ErrorKind::usage);
    CHECK(error.says("Ki, Mi, Gi, Ti"));
  }
}

TEST_CASE("durations take s, m, h and d") {
  CHECK(parse_duration("90") == 90);
  CHECK(parse_duration("90s") == 90);
  CHECK(parse_duration("5m") == 300);
  CHECK(parse_duration("1.5h") == 5400);
  CHECK(parse_duration("1d") == 86400);
  for (const char* text : {"", "-1", "m", "1w", "1e3", "nan", "inf", "5 m"}) {
    INFO(text);
    CHECK(caught([&] { parse_duration(text); }).kind == ErrorKind::usage);
  }
}

TEST_CASE("sizes, counts and durations are written for people") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1536) == "1.5 KiB");
  CHECK(format_bytes((std::uint64_t{1} << 30) - 1) == "1.0 GiB");
  CHECK(format_bytes(UINT64_MAX) == "16.0 EiB");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_duration(0.25) == "0.2 s");
  CHECK(format_duration(42) == "42 s");
  CHECK(format_duration(59.9) == "0:01:00");
  CHECK(format_duration(3723) == "1:02:03");
  CHECK(format_duration(360000) == "100:00:00");
  CHECK(format_duration(-1) == "unknown");
}

TEST_CASE("lines are counted from one") {
  CHECK(line_at("", 0) == 1);
  CHECK(line_at("a\nb\nc", 0) == 1);
  CHECK(line_at("a\nb\nc", 2) == 2);
  CHECK(line_at("a\nb\nc", 100) == 3);
}

TEST_CASE("splitting keeps empty parts, and an empty text has none") {
  CHECK(split("a,b", ',') == std::vector<std::string>{"a", "b"});
  CHECK(split("a,,b,", ',') == std::vector<std::string>{"a", "", "b", ""});
  CHECK(split("", ',').empty());
  CHECK(trim(" \t a b\n") == "a b");
  CHECK(trim("  ").empty());
}

TEST_CASE("a table aligns numbers right and other columns left, by columns not bytes") {
  const std::string table = format_table({{"name", "bytes"}, {"naïve", "5"}, {"b", "1,234"}, {"c", "-7"}});
  CHECK(table ==
        "name   bytes\n"
        "naïve      5\n"
        "b      1,234\n"
        "c         -7\n");
  CHECK(format_table({{"a", "b"}, {"1x", "y"}}) == " a  b\n1x  y\n");
  CHECK(format_table({}).empty());
}

TEST_CASE("one is singular") {
  CHECK(pluralize(0, "file") == "0 files");
  CHECK(pluralize(1, "file") == "1 file");
  CHECK(pluralize(std::size_t{12000}, "key-value head") == "12,000 key-value heads");
  CHECK(plural_form(1, "is", "are") == "is");
  CHECK(plural_form(2, "is", "are") == "are");
}
