#include <catch2/catch.hpp>

#include "base/example_options.hpp"
#include "base/text/text.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::error_of;
using dt_test::Example;
using dt_test::Folder;
using dt_test::Place;
using dt_test::put;

namespace {

dt_test::Caught config_error(const std::string& text) {
  const Folder folder;
  put(folder / "run.conf", text);
  Example example;
  const std::string argument = "--config=" + (folder / "run.conf").string();
  auto error = caught([&] { example.parse({argument.c_str()}); });
  if (const auto at = error.message.find(folder.path().string()); at != std::string::npos) {
    error.message.erase(at, folder.path().string().size() + 1);
  }
  return error;
}

}  // namespace

TEST_CASE("a config file sets options, and the command line wins") {
  const Folder folder;
  put(folder / "run.conf",
      "# a comment\n\n name = from file   # why\nlr=0.5\r\nshuffle = off\noverwrite = yes\n"
      "tokenizer = \"a # b\"\nlist = x,y\nquiet = true\n");
  Example e;
  e.parse({"--config", (folder / "run.conf").c_str(), "--lr", "0.25"});
  CHECK(e.name == "from file");
  CHECK(e.rate == 0.25);
  CHECK_FALSE(e.shuffle);
  CHECK(e.overwrite);
  CHECK(e.tokenizer == "a # b");
  CHECK(e.list == std::vector<std::string>{"x", "y"});
  CHECK(e.table.console_settings().quiet);
  CHECK(e.table.given("name"));
  CHECK(e.table.given("lr"));
  CHECK_FALSE(e.table.given("steps"));
}

TEST_CASE("an error in a config file names the file and the line") {
  CHECK(config_error("lr = 0.1\nlearning-rate = 3\n").message ==
        "run.conf:2: unknown option 'learning-rate'; see --help");

  CHECK(config_error("nam = x\n").says("run.conf:1: unknown option 'nam'; did you mean 'name'?"));
  CHECK(config_error("\n\nlr = 2\n").message ==
        "run.conf:3: invalid value '2' for option 'lr'; expected a number from 0 to 1");
  CHECK(config_error("shuffle = 2\n").says("expected true, false, yes, no, on or off"));
  CHECK(config_error("lr 2\n").says("run.conf:1: 'lr 2' is not an option; expected 'name = value'"));
  CHECK(config_error("no-shuffle = true\n").says("write 'shuffle = false'"));
  CHECK(config_error("config = x\n").says("run.conf:1: option 'config' is allowed only on the command line"));
  CHECK(config_error("name = \"x\n").says("run.conf:1: a closing '\"' is missing"));
  CHECK(config_error("lr =\n").says("invalid value ''"));
  CHECK(config_error("x = 1\n").kind == ErrorKind::usage);
  CHECK(error_of({"--config", "/none.conf"}).says("cannot open /none.conf"));
}

TEST_CASE("help shows groups, defaults, choices and examples within 100 columns") {
  const Example e;
  const std::string help = e.table.help();
  INFO(help);
  CHECK(help.starts_with(
      "dt-test: shows what options can do\n\nusage: dt-test --name NAME [options] [INPUT...]\n"));
  for (const char* part :
       {"\nData:\n", "\nTraining:\n", "  -n, --name NAME", "(default: tiny)", "(default: 64Mi)",
        "--[no-]shuffle", "(default: on)", "--device cpu|cuda|auto", "(default: 5m)", "(default: a,b)",
        "  --overwrite ", "(default: 0.0003)", "  # train on a file\n  dt-test --name x a.txt\n",
        "--config FILE", "--progress auto|always|never", "-h, --help"}) {
    INFO(part);
    CHECK(help.find(part) != std::string::npos);
  }
  CHECK(help.find("\nData:\n") < help.find("\nTraining:\n"));
  for (const std::size_t width : {40, 60, 80, 100, 200}) {
    std::size_t widest = 0;
    for (const std::string& line : split(e.table.help(width), '\n'))
      widest = std::max(widest, display_width(line));
    CHECK(widest <= width);
    CHECK(widest > width - 25);
  }
  CHECK(e.table.help() == e.table.help(100));
}

TEST_CASE("help and version win over checks and required values") {
  Example e;
  e.table.check([](const OptionTable&) { throw usage_error("refused"); });
  CHECK(e.parse({"--help"}) == OptionTable::Outcome::help);
  CHECK(e.parse({"-h"}) == OptionTable::Outcome::help);
  CHECK(e.parse({"--version"}) == OptionTable::Outcome::version);
  CHECK(caught([&] { e.parse({}); }).message == "refused");
}

TEST_CASE("checks see the values, and which options of the table are given") {
  Example e;
  e.table.check([&](const OptionTable& table) {
    if (e.overwrite && table.given("name")) throw usage_error("--overwrite excludes --name {}", e.name);
  });
  OptionTable moved(std::move(e.table));
  const auto parse = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "dt-test");
    moved.parse(static_cast<int>(arguments.size()), arguments.data());
  };
  parse({"--overwrite"});
  CHECK(caught([&] { parse({"--overwrite", "--name", "x"}); }).message == "--overwrite excludes --name x");
}

TEST_CASE("an option is refused beside those that leave it no use, unless they are turned off") {
  const auto message = [](std::vector<const char*> arguments) {
    Example e;
    std::int64_t depth = 1;
    e.table.add("depth", &depth, "N", "how deep")
        .conflicts_with({"overwrite", "clip"})
        .conflicts_with({"tokenizer"}, "it knows");
    return caught([&] { e.parse(std::move(arguments)); }).message;
  };
  CHECK(message({"--depth", "1", "--overwrite"}) == "--depth cannot be combined with --overwrite");
  CHECK(message({"--clip", "2", "--depth", "1"}) == "--depth cannot be combined with --clip");
  CHECK(message({"--depth", "1", "--tokenizer", ""}) ==
        "--depth cannot be combined with --tokenizer: it knows");
  CHECK(message({"--depth", "1", "--no-overwrite"}).empty());
  CHECK(message({"--depth", "1", "--lr", "0.5"}).empty());
  CHECK(message({"--overwrite", "--clip", "2"}).empty());
}

TEST_CASE("an option is refused where what it needs does not hold, once all values are known") {
  const auto message = [](std::vector<const char*> arguments) {
    Example e;
    std::int64_t depth = 1;
    e.table.add("depth", &depth, "N", "how deep").require("--device cuda", [&e] {
      return e.device == Place::cuda;
    });
    return caught([&] { e.parse(std::move(arguments)); }).message;
  };
  CHECK(message({"--depth", "2"}) == "--depth needs --device cuda");
  CHECK(message({"--depth", "2", "--device", "cuda"}).empty());
  CHECK(message({}).empty());
}

TEST_CASE("rules of options are asked after checks, and not for --help") {
  Example e;
  e.table.require("luck", [] { return false; }).check([](const OptionTable&) {
    throw usage_error("refused");
  });
  CHECK(e.parse({"--help", "--device", "cpu"}) == OptionTable::Outcome::help);
  CHECK(caught([&] { e.parse({"--device", "cpu"}); }).message == "refused");
}

TEST_CASE("values are listed as text, in the table's order") {
  Example e;
  e.parse({"--lr", "0.5", "--no-shuffle", "--save-every", "90m"});
  const auto values = e.table.values();
  REQUIRE(values.size() == 11);
  CHECK(values[0].name == "name");
  CHECK(values[1].value == "67108864");
  CHECK(values[2].value == "false");
  CHECK(values[2].given);
  CHECK(values[3].value == "a,b");
  CHECK(values[4].value.empty());
  CHECK(values[5].value == "0.5");
  CHECK(values[8].value == "90m");
  CHECK_FALSE(values[9].given);
}

TEST_CASE("standard options fill the console's settings") {
  Example e;
  e.parse({"--json", "--verbose", "--progress", "never"});
  const ConsoleSettings& s = e.table.console_settings();
  CHECK(s.tool == "dt-test");
  CHECK(s.json);
  CHECK(s.verbose);
  CHECK_FALSE(s.quiet);
  CHECK(s.progress == ProgressMode::never);
}

TEST_CASE("many choices are listed in the help's text") {
  OptionTable table("dt-test", "x");
  constexpr auto names = std::to_array<EnumName<int>>(
      {{"alpha", 1}, {"bravo", 2}, {"charlie", 3}, {"delta", 4}, {"echo", 5}, {"foxtrot", 6}});
  int value = 1;
  table.choice("schedule", &value, names, "which one");
  const std::string help = table.help();
  CHECK(help.find("--schedule NAME") != std::string::npos);
  for (const char* name : {"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}) {
    CHECK(help.find(name) != std::string::npos);
  }
}
