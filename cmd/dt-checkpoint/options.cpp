#include "cmd/dt-checkpoint/options.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text/suggest.hpp"
#include "base/text/text.hpp"

namespace dt::checkpoint_tool {

namespace {

/// A command, the number of its paths, and its lines in --help.
struct CommandSyntax {
  Command command;
  const char* paths;
  std::size_t fewest;
  std::size_t most;
  const char* summary;
};

constexpr std::array<CommandSyntax, enum_names(Command{}).size()> commands = {{
    {Command::list, "RUN", 1, 1, "list checkpoints: step, size, layout, age, completeness"},
    {Command::show, "CKPT", 1, 1, "show training state, model, layout and tensors"},
    {Command::verify, "CKPT...", 1, SIZE_MAX, "check every digest; exit 5 if anything is damaged"},
    {Command::latest, "RUN", 1, 1,
     "print the path of the newest complete checkpoint; exit 3 if there is none"},
    {Command::diff, "A B", 2, 2, "compare two checkpoints by tensor; exit 5 if any differs"},
    {Command::reshard, "CKPT OUT", 2, 2, "write the same state to OUT for another --layout"},
    {Command::prune, "RUN", 1, 1, "remove old checkpoints, but never the two newest that verify"},
    {Command::import_model, "HF_FOLDER OUT", 2, 2,
     "convert a Hugging Face model to checkpoint OUT at step 0"},
    {Command::repair, "CKPT", 1, 1, "replace damaged parts --from a copy; exit 5 if any remain"},
}};

/// An option of a single command.
struct OwnOption {
  const char* name;
  Command command;
  bool (*is_given)(const Options&);
  const char* required;  // message if the command lacks it; nullptr if it is optional
};

constexpr std::array<OwnOption, 6> own_options = {{
    {"keep-last", Command::prune, [](const Options& o) { return o.keep_last.has_value(); },
     "give the number of newest checkpoints to keep"},
    {"keep-every", Command::prune, [](const Options& o) { return o.keep_every.has_value(); }, nullptr},
    {"dry-run", Command::prune, [](const Options& o) { return o.dry_run; }, nullptr},
    {"from", Command::repair, [](const Options& o) { return o.from.has_value(); },
     "name another copy of CKPT"},
    {"layout", Command::reshard, [](const Options& o) { return o.layout.has_value(); },
     "for example --layout tp=2,pp=2,dp=1,zero=1"},
    {"overwrite", Command::reshard, [](const Options& o) { return o.overwrite; }, nullptr},
}};

void check(const Options& options) {
  const std::string names = fmt::format("{}", fmt::join(names_of<Command>(), ", "));
  if (options.arguments.empty()) throw Error(ErrorKind::usage, "a command is missing", "expected " + names);
  const std::string& name = options.arguments.front();
  const auto command = parse_name<Command>(name);
  if (!command) {
    throw Error(ErrorKind::usage, fmt::format("unknown command '{}'", name),
                did_you_mean(name, names_of<Command>()) + "expected " + names);
  }
  const CommandSyntax& syntax = *std::ranges::find(commands, *command, &CommandSyntax::command);
  const std::size_t given = options.arguments.size() - 1;
  if (given < syntax.fewest || given > syntax.most) {
    throw Error(ErrorKind::usage, fmt::format("'{}' got {}", name, pluralize(given, "path")),
                fmt::format("expected dt-checkpoint {} {}", name, syntax.paths));
  }
  for (const OwnOption& own : own_options) {
    const bool is_own = own.command == *command;
    if (!is_own && own.is_given(options))
      throw usage_error("--{} is an option of '{}', not of '{}'", own.name, name_of(own.command), name);
    if (is_own && own.required != nullptr && !own.is_given(options))
      throw Error(ErrorKind::usage, fmt::format("--{} is missing", own.name), own.required);
  }
}

}  // namespace

OptionTable make_options(Options& options) {
  OptionTable table("dt-checkpoint", "inspect, verify, convert, prune and repair checkpoints");
  table.usage("COMMAND PATH... [options]");
  for (const CommandSyntax& syntax : commands)
    table.command(std::string(name_of(syntax.command)), syntax.paths, syntax.summary);
  table.positional(
      &options.arguments, "COMMAND PATH...",
      "RUN: a run directory; CKPT, A, B: a checkpoint, such as RUN/checkpoints/step-00001000.g1");
  table.group("Options of reshard")
      .add("layout", &options.layout, "LAYOUT", "target layout, such as tp=2,pp=2,dp=1,zero=1 (required)")
      .details(
          "The keys are pp, schedule, virtual-stages, dp, cp, tp, sp, zero and zero-group. Omitted keys are "
          "1, except schedule=1f1b, sp=off, zero=0 and zero-group=all. The schedule determines which ranks "
          "hold which stages. dt-layouts(7) explains the keys.")
      .add("overwrite", &options.overwrite, "replace OUT if it already is a checkpoint")
      .group("Options of prune")
      .add("keep-last", &options.keep_last, "N",
           "number of newest checkpoints to keep (required); at least 2 are kept", 1)
      .add("keep-every", &options.keep_every, "M", "also keep checkpoints whose step is a multiple of M", 1)
      .add("dry-run", &options.dry_run, "print what would be removed, and remove nothing")
      .group("Options of repair")
      .add("from", &options.from, "REPLICA", "another copy of the checkpoint (required)")
      .group("Slurm tasks")
      .add("share-tasks", &options.share_tasks, share_tasks_help)
      .details(std::string(share_tasks_details) +
               " verify divides its files. Commands that write run on task 0 alone.");
  table.example("dt-checkpoint verify \"$(dt-checkpoint latest runs/a)\"", "verify the newest checkpoint");
  table.example("dt-checkpoint list runs/a --json | jq -r 'select(.complete) | .path'",
                "print the paths of complete checkpoints, for scripts");
  table.example("dt-checkpoint diff runs/a/checkpoints/step-00000100.g1 runs/b/checkpoints/step-00000100.g1",
                "compare two runs at the same step");
  table.example("dt-checkpoint prune runs/a --keep-last 3 --keep-every 10000",
                "remove old checkpoints of a run that is not training");
  table.example("srun -n 16 dt-checkpoint verify runs/a/checkpoints/step-*",
                "verify all checkpoints, with the files divided among 16 tasks");
  table.example("dt-checkpoint reshard \"$(dt-checkpoint latest runs/a)\" wide --layout dp=64,zero=3",
                "write the checkpoint as 64 ranks would, one file per rank");
  table.everyday({"layout", "overwrite", "keep-last", "keep-every", "dry-run", "from"});
  table.check([&options](const OptionTable&) {
    check(options);
    options.task = current_task(options.share_tasks);
  });
  return table;
}

}  // namespace dt::checkpoint_tool
