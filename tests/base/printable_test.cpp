#include "base/text/printable.hpp"

#include <catch2/catch.hpp>

using namespace dt;

TEST_CASE("what terminals obey is written out") {
  CHECK(printable("plain text, größer, 中, 😀\n\tindented") == "plain text, größer, 中, 😀\n\tindented");
  CHECK(printable("\x1b]0;title\x07") == "\\u001B]0;title\\u0007");
  CHECK(printable(std::string_view("a\0b\rc\x7f", 6)) == "a\\u0000b\\u000Dc\\u007F");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009B31m");                                           // C1 as UTF-8
  CHECK(printable("\x9b\xff 31m") == "\\x9B\\xFF 31m");                              // C1 as bytes
  CHECK(printable("\xe2\x80\xae txt.exe\xe2\x81\xa9") == "\\u202E txt.exe\\u2069");  // directions
  CHECK(printable("\xe2\x80\xa8\xe2\x80\xa9\xd8\x9c") == "\\u2028\\u2029\\u061C");
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == "\\xC0\\xAF\\xED\\xA0\\x80");  // overlong, a surrogate
  CHECK(printable("\xe2\x82") == "\\xE2\\x82");                             // truncated
  CHECK(printable("") == "");
}

TEST_CASE("a name cannot begin a line of a log") {
  CHECK(printable_line("a\ndt-train: error: b\tc") == "a\\ndt-train: error: b\\tc");
}

TEST_CASE("a long name is cut in its middle, between characters") {
  const std::string name(1'000'000, 'n');
  const std::string line = printable_line("tensor '" + name + "' is unknown; fetch the model again");
  CHECK(line.size() < 8300);
  CHECK(line.starts_with("tensor 'nnn"));
  CHECK(line.find(" bytes omitted] …") != std::string::npos);
  CHECK(line.ends_with("fetch the model again"));
  std::string wide;
  while (wide.size() < 100) wide += "中";
  for (std::size_t bytes = 20; bytes < 32; ++bytes)
    CHECK(printable_line(wide, bytes).find("\\x") == std::string::npos);
  CHECK(printable_line(std::string(100, '\x80'), 40).starts_with("\\x80"));
}
