#include "model/parameter_class.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "model/tiny_models.hpp"
#include "support/expert_table.hpp"

using namespace dt;
using namespace dt::model;

namespace {

ParameterClass class_of(const ParameterTable& table, const std::string& name) {
  const int param = table.find(name);
  REQUIRE(param >= 0);
  return parameter_class(table, param);
}

}  // namespace

TEST_CASE("parameters have the class of what they are; a tied table is an embedding") {
  const ParameterTable gpt2(test::tiny_gpt2(false));
  CHECK(class_of(gpt2, "embedding.token.weight") == ParameterClass::embedding);
  CHECK(class_of(gpt2, "embedding.position.weight") == ParameterClass::embedding);
  CHECK(class_of(gpt2, "head.weight") == ParameterClass::head);
  CHECK(class_of(gpt2, "final_norm.weight") == ParameterClass::norm);
  CHECK(class_of(gpt2, "final_norm.bias") == ParameterClass::bias);
  CHECK(class_of(gpt2, "layers.1.attention_norm.weight") == ParameterClass::norm);
  CHECK(class_of(gpt2, "layers.1.attention.q.weight") == ParameterClass::matrix);
  CHECK(class_of(gpt2, "layers.1.attention.q.bias") == ParameterClass::bias);
  CHECK(class_of(gpt2, "layers.1.mlp.down.weight") == ParameterClass::matrix);
  const ParameterTable tied(test::tiny_gpt2(true));
  CHECK(class_of(tied, "embedding.token.weight") == ParameterClass::embedding);
}

TEST_CASE("embeddings, heads and matrices decay; norms and biases do not") {
  for (const ModelSpec& spec : test::every_kind()) {
    const ParameterTable table(spec);
    for (int param = 0; param < static_cast<int>(table.params().size()); ++param) {
      const ParamSpec& p = table.params()[static_cast<std::size_t>(param)];
      const ParameterClass c = parameter_class(table, param);
      CAPTURE(p.name, name_of(c));
      CHECK(p.decays == (c != ParameterClass::norm && c != ParameterClass::bias));
    }
  }
}
