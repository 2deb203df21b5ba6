#include "base/cli/options.hpp"

#include <catch2/catch.hpp>

#include "base/example_options.hpp"

using namespace dt;
using dt_test::caught;
using dt_test::error_of;
using dt_test::Example;
using dt_test::Folder;
using dt_test::Place;
using dt_test::put;

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
        std::vector<std::string>{"option '--name' is given twice; the last one, 'b', is used",
                                 "option '--shuffle' is given twice; the last one, --no-shuffle, is used"});
  const Folder folder;
  put(folder / "run.conf", "lr = 0.1\nlist = x\nlr = 0.2\nlist = y\n");
  Example file;
  file.parse({"--config", (folder / "run.conf").c_str(), "-n", "a"});
  CHECK(file.rate == 0.2);
  CHECK(file.list == std::vector<std::string>{"x", "y"});
  CHECK(file.table.warnings() ==
        std::vector<std::string>{(folder / "run.conf").string() +
                                 ":3: option 'lr' is given twice; the last one, '0.2', is used"});
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

  double bandwidth = 1.5e12;
  e.table.add("bandwidth", &bandwidth, "X", "bytes/s", 1).use_decimal_units();
  double rate = 10e9;
  e.table.add("rate", &rate, "X", "rates", 1).use_decimal_units();
  CHECK(e.table.help_all().find("bytes/s (default: 1500G)") != std::string::npos);
  CHECK(e.table.help_all().find("rates (default: 10G)") != std::string::npos);
}
