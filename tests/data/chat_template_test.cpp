#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/test_folder.hpp"
#include "data/build/tokenizer_config.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::put;

namespace {

// Templates as models' files have them. The end of a line is a newline or the escape \n.
constexpr const char* chatml =
    R"T({% for message in messages %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %})T";
constexpr const char* qwen2 =
    R"T({% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful assistant.<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %})T";
constexpr const char* llama3 =
    R"T({% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>

'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>

' }}{% endif %})T";
constexpr const char* gemma =
    R"T({{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %})T";

/// A tokenizer of bytes that encodes each special token as one id.
class MarkEncoder final : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<std::uint32_t>& ids) override {
    const auto marks = special_marks(text);
    std::size_t at = 0;
    for (const std::string& mark : marks) {
      const std::size_t found = text.find(mark, at);
      ids.insert(ids.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
                 text.begin() + static_cast<std::ptrdiff_t>(found));
      written += std::string(text.substr(at, found - at)) + mark;
      ids.push_back('#');
      at = found + mark.size();
    }
    encode_plain(text.substr(at), ids);
  }
  void encode_plain(std::string_view text, std::vector<std::uint32_t>& ids) override {
    ids.insert(ids.end(), text.begin(), text.end());
    written += text;
  }
  std::string written;
};

std::string written(const char* text, const std::vector<Turn>& turns) {
  const auto format = known_turn_format({text, "t", "<bos>"});
  REQUIRE(format);
  MarkEncoder encoder;
  std::vector<std::uint32_t> ids;
  TurnEncoder turn_encoder(*format, encoder);
  turn_encoder.append({{"user", ""}, {"assistant", ""}}, ids);  // checks each role once
  encoder.written.clear();
  turn_encoder.append(turns, ids);
  return encoder.written;
}

const std::vector<Turn> talk = {{"user", " Hi\u00a0"}, {"assistant", "Yes\n"}};

}  // namespace

// The expected texts are those that Jinja makes of the templates.
TEST_CASE("chat templates of known forms write turns as they say") {
  CHECK(written(chatml, talk) ==
        "<|im_start|>user\n Hi\u00a0<|im_end|>\n<|im_start|>assistant\nYes\n<|im_end|>\n");
  const std::string system = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n";
  CHECK(written(qwen2, talk)
            .ends_with("<|im_start|>user\n Hi\u00a0<|im_end|>\n<|im_start|>assistant\nYes\n<|im_end|>\n"));
  CHECK(written(qwen2, talk).find(system) != std::string::npos);
  CHECK(written(qwen2, {{"system", "x"}}).ends_with("<|im_start|>system\nx<|im_end|>\n"));
  CHECK(written(llama3, talk) ==
        "<bos><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_"
        "header_id|>\n\n"
        "Yes<|eot_id|>");
  CHECK(written(gemma, talk) ==
        "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYes<end_of_turn>\n");
  CHECK(dt_test::caught([] {
          written(gemma, {{"system", "x"}});
        }).says("a turn has the role system, which the chat template gemma does not define"));
}

TEST_CASE("a chat template is found beside the tokenizer; another is named") {
  const dt_test::Folder folder;
  const fs::path tokenizer = folder / "tokenizer.json", config = folder / "tokenizer_config.json";
  const auto refusal = [&] { return dt_test::caught([&] { turn_format_of_files(tokenizer); }); };
  CHECK(refusal().says("no chat_template was found in the folder of"));
  put(config, nlohmann::json{{"chat_template", llama3}, {"bos_token", {{"content", "<b>"}}}}.dump());
  CHECK(turn_format_of_files(tokenizer).begin == "<b>");
  put(config,
      nlohmann::json{{"chat_template",
                      {{{"name", "rag"}, {"template", "x"}}, {{"name", "default"}, {"template", chatml}}}}}
          .dump());
  CHECK(turn_format_of_files(tokenizer).name == "chatml");
  put(folder / "chat_template.jinja", "{{ messages }}");
  CHECK(refusal().kind == ErrorKind::input);
  CHECK(refusal().says("chat_template.jinja: the chat_template (digest "));
  CHECK(refusal().says(
      "is unknown; dt knows chatml, qwen2, llama3 and gemma; describe its turns with --turn-format"));
  fs::remove(folder / "chat_template.jinja");
  put(config, "[");
  CHECK(refusal().kind == ErrorKind::input);
}

TEST_CASE("a format of one's own is compared with the template that is known") {
  const dt_test::Folder folder;
  const fs::path tokenizer = folder / "tokenizer.json", jinja = folder / "chat_template.jinja";
  const auto why = [&](const char* format) { return turn_mismatch(parse_turn_format(format), tokenizer); };
  constexpr const char* ours = "<|im_start|>{role}\n{content}<|im_end|>\n";
  CHECK(why(ours).empty());
  put(jinja, chatml);
  CHECK(why(ours).empty());
  CHECK(why("<|im_start|>{role}\n{content}</s>") ==
        jinja.string() + " (chatml): it ends turns with '</s>', not '<|im_end|>\\n'");
  put(jinja, qwen2);
  CHECK(why(ours).ends_with("where the template adds 'You are a helpful assistant.'"));
  put(jinja, gemma);
  CHECK(why("<start_of_turn>{role}\n{content}<end_of_turn>\n")
            .find("it writes the role assistant unchanged, where the template writes model") !=
        std::string::npos);
  put(jinja, "{{ messages }}");
  CHECK(why("{content}").empty());
}
