#include "base/cli/options.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "base/text/text.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::Folder;
using dt_test::put;

namespace {

enum class Place { cpu, cuda, automatic };
constexpr auto enum_names(Place) {
  return std::to_array<EnumName<Place>>(
      {{"cpu", Place::cpu}, {"cuda", Place::cuda}, {"auto", Place::automatic}});
}

struct Example {
  std::string name = "tiny";
  std::int64_t tokens = std::int64_t{64} << 20;
  double rate = 3e-4;
  bool shuffle = true;
  bool overwrite = false;
  Duration every{300};
  std::vector<std::string> list = {"a", "b"};
  std::optional<std::string> tokenizer;
  std::optional<std::int64_t> steps;
  std::optional<double> clip;
  Place device = Place::cpu;
  std::vector<std::string> inputs;
  OptionTable table{"dt-test", "shows what options can do"};

  Example() {
    table.usage("--name NAME [options] [INPUT...]")
        .group("Data")
        .add("name,n", &name, "NAME", "what it is called")
        .add("shard-tokens", &tokens, "COUNT", "tokens in a shard", 1)
        .add("shuffle", &shuffle, "shuffle documents")
        .add("list", &list, "A,B,...", "a list of things")
        .add("tokenizer", &tokenizer, "FILE", "a tokenizer.json")
        .group("Training")
        .add("lr", &rate, "RATE",
             "the learning rate at its highest, which is a number that is explained in a text that is "
             "long enough to need more than a line of the help",
             0, 1)
        .add("steps", &steps, "COUNT", "steps to run", 1, 1000)
        .add("clip", &clip, "NORM", "the largest norm of a gradient")
        .add("save-every", &every, "TIME", "time between checkpoints")
        .add("overwrite", &overwrite, "replace what exists")
        .choice("device", &device, "where to run")
        .positional(&inputs, "INPUT...", "files to read")
        .example("dt-test --name x a.txt", "train on a file");
  }
  OptionTable::Outcome parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "dt-test");
    return table.parse(static_cast<int>(arguments.size()), arguments.data());
  }
};

dt_test::Caught error_of(std::vector<const char*> arguments) {
  Example example;
  return caught([&] { example.parse(std::move(arguments)); });
}

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

TEST_CASE("every type of option takes its value, after a space or an equals sign") {
  Example e;
  CHECK(e.parse({"--name=x",    "--shard-tokens",
                 "2Ki",         "--lr",
                 "1e-3",        "--no-shuffle",
                 "--overwrite", "--save-every=2h",
                 "--list",      "c,d,e",
                 "--tokenizer", "t.json",
                 "--steps=7",   "--clip",
                 "1",           "--device",
                 "cuda",        "in1",
                 "-",           "in2"}) == OptionTable::Outcome::run);
  CHECK(e.name == "x");
  CHECK(e.tokens == 2048);
  CHECK(e.rate == 1e-3);
  CHECK_FALSE(e.shuffle);
  CHECK(e.overwrite);
  CHECK(e.every.seconds == 7200);
  CHECK(e.list == std::vector<std::string>{"c", "d", "e"});
  CHECK(e.tokenizer == "t.json");
  CHECK(e.steps == 7);
  CHECK(e.clip == 1.0);
  CHECK(e.device == Place::cuda);
  CHECK(e.inputs == std::vector<std::string>{"in1", "-", "in2"});
}

TEST_CASE("what is not given keeps its default") {
  Example e;
  CHECK(e.parse({}) == OptionTable::Outcome::run);
  CHECK(e.name == "tiny");
  CHECK(e.shuffle);
  CHECK_FALSE(e.steps.has_value());
  CHECK(e.inputs.empty());
  CHECK_FALSE(e.table.given("name"));
}

TEST_CASE("letters, empty values and the end of options are understood") {
  Example e;
  e.parse({"-n", "x", "--tokenizer", "", "--", "--name", "-"});
  CHECK(e.name == "x");
  CHECK(e.tokenizer == "");
  CHECK(e.inputs == std::vector<std::string>{"--name", "-"});
  Example odd;
  odd.parse({"--name", "-", "", "--tokenizer", "-5"});
  CHECK(odd.name == "-");
  CHECK(odd.tokenizer == "-5");
  CHECK(odd.inputs == std::vector<std::string>{""});
  Example glued;
  glued.parse({"-nx"});
  CHECK(glued.name == "x");
}

TEST_CASE("an unknown option is a usage error that suggests a name") {
  CHECK(error_of({"--foo"}).message == "unknown option '--foo'; see --help");
  CHECK(error_of({"--foo=3"}).message == "unknown option '--foo'; see --help");
  CHECK(error_of({"--shard-token", "5"}).message ==
        "unknown option '--shard-token'; did you mean '--shard-tokens'? see --help");
  CHECK(error_of({"--shufle"}).says("did you mean '--shuffle'?"));
  CHECK(error_of({"-x"}).says("unknown option '-x'"));
  CHECK(error_of({"---name", "x"}).says("unknown option '---name'"));
  CHECK(error_of({"--=3"}).kind == ErrorKind::usage);
  CHECK(error_of({"-1"}).says("unknown option '-1'"));
  CHECK(error_of({"--no-name"}).says("unknown option '--no-name'"));
  CHECK(error_of({"--foo"}).kind == ErrorKind::usage);
}

TEST_CASE("an abbreviation is not guessed") {
  CHECK(error_of({"--over"}).message == "unknown option '--over'; did you mean '--overwrite'? see --help");
}

TEST_CASE("an unusable value names the option, the value and what is allowed") {
  CHECK(error_of({"--lr", "-1"}).message ==
        "invalid value '-1' for option '--lr'; expected a number from 0 to 1");
  CHECK(error_of({"--lr=nan"}).says("invalid value 'nan' for option '--lr'"));
  CHECK(error_of({"--clip", "1x"}).says("expected a number of at least 0"));
  CHECK(error_of({"--steps", "0"}).says("expected a whole number from 1 to 1000"));
  CHECK(error_of({"--steps", "1.5"}).says("invalid value '1.5' for option '--steps'"));
  CHECK(error_of({"--shard-tokens=-5"}).says("expected a whole number of at least 1"));
  CHECK(error_of({"--save-every", "soon"}).says("such as 90, 5m, 1.5h, 1d"));
  CHECK(error_of({"--device", "gpu"}).message ==
        "invalid value 'gpu' for option '--device'; did you mean 'cuda'? expected one of cpu, cuda, auto");
  CHECK(error_of({"--device", "AUTO"}).says("did you mean 'auto'?"));
  CHECK(error_of({"--device", "cdua"}).says("did you mean 'cuda'?"));
  CHECK(error_of({"--device", "tpu9"}).message ==
        "invalid value 'tpu9' for option '--device'; expected one of cpu, cuda, auto");
  CHECK(error_of({"--list", "a,,b"}).says("without empty items"));
  CHECK(error_of({"--progress", "maybe"}).says("expected one of auto, always, never"));
}

TEST_CASE("a missing value is noticed, also before another option") {
  CHECK(error_of({"--name"}).message == "option '--name' needs a value; write --name NAME");
  CHECK(error_of({"--name", "--overwrite"}).says("option '--name' needs a value"));
  CHECK(error_of({"--name", "--no-shuffle"}).says("option '--name' needs a value"));
  CHECK(error_of({"--name="}).says("option '--name' needs a value"));
  Example e;
  e.parse({"--name=--overwrite"});
  CHECK(e.name == "--overwrite");
}

TEST_CASE("a boolean takes no value") {
  CHECK(error_of({"--overwrite=true"}).message ==
        "option '--overwrite' takes no value; write --overwrite or --no-overwrite");
  CHECK(error_of({"--no-shuffle=1"}).says("option '--shuffle' takes no value"));
}

TEST_CASE("of an option given twice the last counts, with a warning; a list has the items of all") {
  Example e;
  e.parse({"--name", "a", "--name=b", "--shuffle", "--no-shuffle", "--list", "x", "--list=y,z"});
  CHECK(e.name == "b");
  CHECK_FALSE(e.shuffle);
  CHECK(e.list == std::vector<std::string>{"x", "y", "z"});
  CHECK(e.table.warnings() ==
        std::vector<std::string>{"option '--name' is given twice: the last, 'b', counts",
                                 "option '--shuffle' is given twice: the last, --no-shuffle, counts"});
  const Folder folder;
  put(folder / "run.conf", "lr = 0.1\nlist = x\nlr = 0.2\nlist = y\n");
  Example file;
  file.parse({"--config", (folder / "run.conf").c_str(), "-n", "a"});
  CHECK(file.rate == 0.2);
  CHECK(file.list == std::vector<std::string>{"x", "y"});
  CHECK(file.table.warnings() ==
        std::vector<std::string>{(folder / "run.conf").string() +
                                 ":3: option 'lr' is given twice: the last, '0.2', counts"});
}

TEST_CASE("names of other tools lead to this one's") {
  const auto message = [](std::vector<const char*> arguments) {
    Example e;
    std::int64_t global = 8, micro = 1;
    e.table.add("global-batch", &global, "N", "x")
        .add_aliases("global-batch", {"batch-size", "train-batch-size"})
        .add("micro-batch", &micro, "N", "x")
        .add_aliases("micro-batch", {"batch-size"})
        .add_unsupported({"dp"}, "it is what remains of the ranks");
    return caught([&] { e.parse(std::move(arguments)); }).message;
  };
  CHECK(message({"--batch-size", "8"}) ==
        "unknown option '--batch-size'; did you mean '--global-batch' or '--micro-batch'? see --help");
  CHECK(message({"--Train_batch_size=8"}) ==
        "unknown option '--Train_batch_size'; did you mean '--global-batch'? see --help");
  CHECK(message({"--global_batch", "8"}) ==
        "unknown option '--global_batch'; did you mean '--global-batch'? see --help");
  CHECK(message({"--dp=2"}) == "unknown option '--dp'; it is what remains of the ranks");
}

TEST_CASE("in sizes of bytes K, M and G can be powers of 1024, and the help says of which") {
  Example e;
  std::int64_t bytes = 8;
  e.table.add("min-bytes", &bytes, "BYTES", "x", 1).use_binary_units();
  for (const auto& [text, value] : {std::pair{"64K", 65536},
                                    {"64k", 65536},
                                    {"64Ki", 65536},
                                    {"1m", 1 << 20},
                                    {"1G", 1 << 30},
                                    {"12", 12}}) {
    INFO(text);
    const std::string argument = fmt::format("--min-bytes={}", text);
    e.parse({argument.c_str(), "--shard-tokens", "1K"});
    CHECK(bytes == value);
    CHECK(e.tokens == 1000);
  }
  CHECK(caught([&] { e.parse({"--min-bytes", "1x"}); }).says("invalid value '1x' for option '--min-bytes'"));
  CHECK(caught([&] { e.parse({"--min-bytes", ""}); }).kind == ErrorKind::usage);
  CHECK(e.table.help(500).find(
            "In --min-bytes K M G T, also in small letters, and Ki Mi Gi Ti are powers of 1024") !=
        std::string::npos);
}

TEST_CASE("arguments of a tool that takes none are refused") {
  OptionTable table("dt-test", "x");
  const char* arguments[] = {"dt-test", "stray"};
  CHECK(caught([&] { table.parse(2, arguments); }).message ==
        "unexpected argument 'stray'; dt-test takes options only; see --help");
}

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
  CHECK(config_error("config = x\n").says("run.conf:1: option 'config' belongs on the command line"));
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
  e.table.check([] { throw usage_error("refused"); });
  CHECK(e.parse({"--help"}) == OptionTable::Outcome::help);
  CHECK(e.parse({"-h"}) == OptionTable::Outcome::help);
  CHECK(e.parse({"--version"}) == OptionTable::Outcome::version);
  CHECK(caught([&] { e.parse({}); }).message == "refused");
}

TEST_CASE("checks see the values") {
  Example e;
  e.table.check([&] {
    if (e.overwrite && e.name == "x") throw usage_error("--overwrite excludes --name x");
  });
  e.parse({"--overwrite"});
  CHECK(caught([&] { e.parse({"--overwrite", "--name", "x"}); }).kind == ErrorKind::usage);
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
  CHECK(message({"--depth", "1", "--overwrite"}) == "--depth has no use with --overwrite");
  CHECK(message({"--clip", "2", "--depth", "1"}) == "--depth has no use with --clip");
  CHECK(message({"--depth", "1", "--tokenizer", ""}) == "--depth has no use with --tokenizer: it knows");
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
  e.table.require("luck", [] { return false; }).check([] { throw usage_error("refused"); });
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

TEST_CASE("numbers take units where the option says so") {
  Example e;
  std::optional<double> flops;
  e.table.add("peak-flops", &flops, "X", "x", 1).use_decimal_units();
  for (const auto& [text, value] :
       {std::pair{"989T", 989e12}, {"1.5P", 1.5e15}, {"2e3", 2e3}, {"64K", 64e3}, {"1e9", 1e9}}) {
    INFO(text);
    e.parse({"--peak-flops", text});
    CHECK(flops == Approx(value));
  }
  for (const char* text : {"989X", "T", "1e2T", "-1T"})
    CHECK(caught([&] { e.parse({"--peak-flops", text}); }).says("(K, M, G, T and P are understood)"));
}
