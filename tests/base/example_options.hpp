#pragma once
// A tool's options, shared by the tests of option tables.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/options.hpp"
#include "base/test_folder.hpp"

namespace dt_test {

using dt::Duration, dt::EnumName, dt::OptionTable;

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

inline Caught error_of(std::vector<const char*> arguments) {
  Example example;
  return caught([&] { example.parse(std::move(arguments)); });
}

}  // namespace dt_test
