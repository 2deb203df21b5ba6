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
    {Command::list, "RUN", 1, 1, "step, generation, bytes, layout, age, complete, lineage"},
    {Command::show, "CKPT", 1, 1, "state, model, mesh; tensors, shapes, dtypes, pieces"},
    {Command::verify, "CKPT...", 1, SIZE_MAX, "every digest; exit 5 and the names of what is wrong"},
    {Command::latest, "RUN", 1, 1, "the path of the newest complete one; exit 3 where there is none"},
    {Command::diff, "A B", 2, 2, "per tensor: equal, max abs, relative norm; exit 5 if any differs"},
    {Command::reshard, "CKPT OUT", 2, 2, "the same state in the pieces of another --layout"},
    {Command::prune, "RUN", 1, 1, "removes old ones, but never the two newest that verify"},
    {Command::import_model, "HF_FOLDER OUT", 2, 2, "a Hugging Face model as the checkpoint OUT, of step 0"},
    {Command::repair, "CKPT", 1, 1, "mends what is damaged --from another copy; exit 5 if that does not do"},
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
     "say how many to keep"},
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
    throw Error(ErrorKind::usage, fmt::format("'{}' was given {}", name, pluralize(given, "path")),
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
  OptionTable table("dt-checkpoint", "looks into checkpoints, and looks after them.");
  for (const CommandSyntax& syntax : commands) {
    const std::string line = fmt::format("{} {}", name_of(syntax.command), syntax.paths);
    table.usage(fmt::format("{:20}  {}", line, syntax.summary));
  }
  table.positional(
      &options.arguments, "COMMAND PATH...",
      "RUN is a run directory, CKPT (A, B) a checkpoint in it: RUN/checkpoints/step-00001000.g1");
  table.group("reshard")
      .add(
          "layout", &options.layout, "LAYOUT",
          "pp, schedule, virtual-stages, dp, cp, tp, sp, zero, zero-group as in tp=2,pp=2,dp=1,zero=1; what "
          "is left out is 1, schedule 1f1b, sp off, zero 0, zero-group all; a schedule says which ranks have "
          "which stages")
      .add("overwrite", &options.overwrite, "replace OUT where it is a checkpoint")
      .group("prune")
      .add("keep-last", &options.keep_last, "N", "newest checkpoints to keep (required); at least 2 are", 1)
      .add("keep-every", &options.keep_every, "M", "keep those whose step is a multiple of M", 1)
      .add("dry-run", &options.dry_run, "only say what would be removed")
      .group("repair")
      .add("from", &options.from, "REPLICA", "another copy of the checkpoint (required)")
      .group("Tasks of one srun")
      .add("share-tasks", &options.share_tasks, share_tasks_help);
  table.example("dt-checkpoint verify \"$(dt-checkpoint latest runs/a)\"", "is the newest checkpoint sound?");
  table.example("dt-checkpoint list runs/a --json | jq -r 'select(.complete) | .path'", "for scripts");
  table.example("dt-checkpoint diff runs/a/checkpoints/step-00000100.g1 runs/b/checkpoints/step-00000100.g1",
                "did two runs train the same model?");
  table.example("dt-checkpoint prune runs/a --keep-last 3 --keep-every 10000", "of a run that stands still");
  table.example("srun -n 16 dt-checkpoint verify runs/a/checkpoints/step-*", "tasks divide the files");
  table.example("dt-checkpoint reshard \"$(dt-checkpoint latest runs/a)\" wide --layout dp=64,zero=3",
                "one file for each of 64 ranks");
  table.check([&options] {
    check(options);
    options.task = current_task(options.share_tasks);
  });
  return table;
}

}  // namespace dt::checkpoint_tool
