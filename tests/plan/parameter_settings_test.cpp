#include "plan/parameter_settings.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace dt;
using namespace dt::plan;
using model::ParameterClass;

namespace {

ParameterSettings parse(std::vector<std::string> lr_scale, std::vector<std::string> no_decay,
                        bool tied = false) {
  model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  spec.layers = 1;
  spec.tied = tied;
  return parse_parameter_settings({std::move(lr_scale), std::move(no_decay)}, model::ParameterTable(spec));
}

void check_refused(const std::string& text, std::vector<std::string> lr_scale,
                   std::vector<std::string> no_decay, bool tied = false) {
  try {
    parse(std::move(lr_scale), std::move(no_decay), tied);
    FAIL(text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.what(), Catch::Contains(text));
  }
}

}  // namespace

TEST_CASE("classes of parameters take factors and lose decay") {
  const ParameterSettings settings = parse({"head=2", "embedding=0.1", "bias=0"}, {"embedding", "matrix"});
  CHECK(settings[ParameterClass::embedding].lr_scale == 0.1);
  CHECK(settings[ParameterClass::head].lr_scale == 2);
  CHECK(settings[ParameterClass::bias].lr_scale == 0);
  CHECK(settings[ParameterClass::matrix].lr_scale == 1);
  CHECK_FALSE(settings[ParameterClass::embedding].decays);
  CHECK(settings[ParameterClass::head].decays);
  CHECK(settings.describe_lr_scale() == "embedding=0.1,head=2,bias=0");
  CHECK(settings.describe_no_decay() == "embedding,matrix");
  const ParameterSettings defaults = parse({}, {"none"});
  CHECK(defaults.describe_lr_scale().empty());
  CHECK(defaults.describe_no_decay().empty());
}

TEST_CASE("a request that means nothing is refused, with its option") {
  check_refused("--lr-scale embedding: write CLASS=FACTOR", {"embedding"}, {});
  check_refused("--lr-scale embedding=x: the factor must be", {"embedding=x"}, {});
  check_refused("--lr-scale embedding=-1: the factor must be", {"embedding=-1"}, {});
  check_refused("--lr-scale embedding=inf: the factor must be", {"embedding=inf"}, {});
  check_refused("--lr-scale names head twice", {"head=1", "head=2"}, {});
  check_refused("--lr-scale: \"heads\" is not a class", {"heads=1"}, {});
  check_refused("--lr-scale head: the model has no such parameter", {"head=1"}, {}, /*tied=*/true);
  check_refused("--no-decay norm: the model has no such parameter", {}, {"norm"});
  check_refused("--no-decay: \"none\" is not a class", {}, {"none", "head"});
}
