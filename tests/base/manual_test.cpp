#include "base/cli/manual.hpp"

#include <catch2/catch.hpp>

#include "base/cli/completions.hpp"
#include "base/cli/mdoc.hpp"
#include "base/example_options.hpp"

using namespace dt;
using Catch::Matchers::Contains;
using dt_test::error_of;
using dt_test::Example;

TEST_CASE("text in mdoc keeps its characters, and begins no macro") {
  CHECK(mdoc_text("a-b \\n 'x' é") == "a\\-b \\en \\(aqx\\(aq \\[u00E9]");
  CHECK(mdoc_paragraphs(".Sh is a macro") == "\\&.Sh is a macro\n");
  CHECK(mdoc_paragraphs("One. Two.\n\nThree") == "One.\nTwo.\n.Pp\nThree\n");
  CHECK(mdoc_paragraphs("see (--lr), not 1--2") == "see (\\fB\\-\\-lr\\fP), not 1\\-\\-2\n");
  CHECK(mdoc_paragraphs("Formula:\n\n  a = b\n  .c\n") ==
        "Formula:\n.Bd -literal -offset indent\na = b\n\\&.c\n.Ed\n");
  CHECK(mdoc_argument("say \"No\"") == "\"\\&say \\(dqNo\\(dq\"");
}

TEST_CASE("a man page has the options with defaults, rules and details, and the manual's prose") {
  Example e;
  std::int64_t depth = 1;
  e.table.add("depth", &depth, "N", "how deep")
      .details("Deeper is slower.")
      .conflicts_with({"overwrite"})
      .require("--device cuda", [] { return true; });
  const Manual manual = {.description = "Does it.",
                         .sections = {{"OUTPUT", "A row each.", {{"loss", "in nats"}}}},
                         .files = {{"DIR/x.json", "A file."}},
                         .exit_codes = {{"5", "Damaged."}},
                         .see_also = {"dt-merge(1)", "dt-layouts(7)"}};
  const std::string page = man_page(e.table, manual, "May 4, 2026");
  INFO(page);
  for (const char* part :
       {".Dd May 4, 2026\n.Dt DT-TEST 1\n", ".Nd shows what options can do\n", ".Ss Training\n",
        ".It Fl \\-depth Ar \"\\&N\"\nHow deep.\nDefault: 1.\n.Pp\nDeeper is slower.\n.Pp\nNeeds "
        "\\fB\\-\\-device\\fP cuda.\nCannot be combined with \\fB\\-\\-overwrite\\fP.\n",
        ".It Fl n , Fl \\-name Ar \"\\&NAME\"\n", ".It Fl \\-shuffle , Fl \\-no\\-shuffle\n",
        ".It Fl \\-help\\-all\n", ".Sh OUTPUT\nA row each.\n", ".It Pa \"\\&DIR/x.json\"\n",
        ".It \"\\&5\"\nDamaged.\n", ".Xr dt-merge 1 ,\n.Xr dt-layouts 7\n",
        ".Sh EXAMPLES\nTrain on a file:\n"})
    CHECK_THAT(page, Contains(part));
}

TEST_CASE("the page of environment variables names the tools that use them") {
  const std::string page = environment_page("May 4, 2026");
  CHECK_THAT(page, Contains(".It Ev \"\\&GOMP_SPINCOUNT\"\n") && Contains("Used by: dt\\-train.\n"));
}

TEST_CASE("completions know options, values and paths") {
  Example e;
  e.table.complete("name", {"alpha", "beta"}).command("list", "RUN", "it's all: a \"list\"");
  const std::string bash = bash_completion(e.table);
  INFO(bash);
  CHECK_THAT(bash, Contains("--device) _dt_test_add -W 'cpu cuda auto' -- \"$word\"; return ;;"));
  CHECK_THAT(bash, Contains("--name|-n) _dt_test_add -W 'alpha beta'"));
  CHECK_THAT(bash, Contains("--config) _dt_test_add -f -- \"$word\"; compopt"));
  CHECK_THAT(bash, Contains("--shuffle --no-shuffle"));
  CHECK_THAT(bash, Contains("complete -F _dt_test dt-test\n"));
  const std::string zsh = zsh_completion(e.table);
  INFO(zsh);
  CHECK_THAT(zsh, Contains("#compdef dt-test\n") && Contains(":(cpu cuda auto)' \\\n"));
  CHECK_THAT(zsh, Contains("'1:command:((list\\:\"it'\\''s all: a \\\"list\\\"\"))' \\\n"));
}

TEST_CASE("--help shows the everyday options alone, --help-all every one") {
  Example e;
  CHECK(e.table.help() == e.table.help_all());
  e.table.everyday({"name", "lr"});
  const std::string help = e.table.help(80);
  CHECK_THAT(help, Contains("--name") && Contains("--lr") && Contains("dt-test --help-all shows all "));
  CHECK_THAT(help, !Contains("--shuffle") && !Contains("--json") && !Contains("Examples"));
  CHECK_THAT(e.table.help_all(80), Contains("--[no-]shuffle") && Contains("--json") && Contains("Examples"));
  CHECK(e.parse({"--help-all"}) == OptionTable::Outcome::help_all);
  CHECK(e.parse({"--version", "--verbose"}) == OptionTable::Outcome::version);
  CHECK(e.table.console_settings().verbose);
}

TEST_CASE("a mistyped negation or value suggests the nearest one") {
  CHECK(error_of({"--no-shufle"}).message ==
        "unknown option '--no-shufle'; did you mean '--no-shuffle'? see --help");
  CHECK(error_of({"--progress", "alway"}).message ==
        "invalid value 'alway' for option '--progress'; did you mean 'always'? expected one of auto, always, "
        "never");
}
