#include "device/ptx/body.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "device/ptx/flow.hpp"
#include "device/ptx/operations.hpp"
#include "device/ptx/text.hpp"

namespace dt::ptx {

namespace {

constexpr std::string_view special_names[] = {
    "%tid.x",   "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",
    "%ctaid.x", "%ctaid.y",     "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
    "%laneid",  "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"};
static_assert(std::size(special_names) == static_cast<std::size_t>(Special::count));

/// Reads a decimal or hexadecimal number, or the bits of a float; none if it is no number.
std::optional<std::uint64_t> number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const bool is_negative = text[0] == '-';
  if (is_negative) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  int base = 10;
  if (text.size() > 2 && text[0] == '0' &&
      std::string_view("xXfFdD").find(text[1]) != std::string_view::npos) {
    base = 16;
    text.remove_prefix(2);
  }
  if (text.back() == 'U') text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return is_negative ? -value : value;
}

struct Register {
  bool is_predicate;
  std::int32_t index;  // −1: none, "_"
};

class Reader {
 public:
  Reader(Kernel& kernel, const std::map<std::string, SharedName, std::less<>>& shared)
      : kernel_(kernel), shared_(shared) {
    kernel_.num_rows = static_cast<std::int32_t>(Special::count);
    for (std::size_t i = 0; i < std::size(special_names); ++i)
      registers_.emplace(special_names[i], Register{false, static_cast<std::int32_t>(i)});
    for (const auto& [name, place] : shared_) shared_end_ = std::max(shared_end_, place.offset + place.bytes);
  }

  void read_parameters(std::string_view list) {
    for (const std::string_view text : split_list(list)) {
      const Declaration declared = declaration(text);
      const std::size_t offset = round_up(kernel_.parameter_bytes, declared.alignment);
      kernel_.parameters.push_back({declared.name, offset, declared.bytes});
      kernel_.parameter_bytes = offset + declared.bytes;
    }
  }

  void read_body(std::string_view body) {
    for (std::size_t at = 0; at < body.size();) {
      line_ += body[at] == '\n' ? 1 : 0;
      if (std::string_view(" \t\r\n{}").find(body[at]) != std::string_view::npos) {
        ++at;
        continue;
      }
      const std::size_t word = std::min(body.find_first_not_of(name_characters, at), body.size());
      const bool is_label = word > at && word < body.size() && body[word] == ':';
      const std::size_t end = is_label ? word : std::min(body.find(';', at), body.size());
      const std::string_view statement = trimmed(body.substr(at, end - at));
      if (is_label)
        labels_[std::string(statement)] = static_cast<std::uint32_t>(kernel_.code.size());
      else
        read_statement(statement);
      line_ += static_cast<std::uint32_t>(std::count(body.begin() + static_cast<std::ptrdiff_t>(at),
                                                     body.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      at = end + 1;
    }
    for (const auto& [instruction, label] : branches_) kernel_.code[instruction].target = target(label);
    kernel_.code.push_back({.flow = Flow::exit, .line = line_, .text = "ret"});
    kernel_.shared_bytes = shared_end_;
    kernel_.dynamic_begin = round_up(shared_end_, dynamic_alignment);
    kernel_.num_predicates = std::max(num_predicates_, 1);
  }

 private:
  static constexpr std::size_t dynamic_alignment = 16;
  static constexpr std::string_view name_characters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";

  [[noreturn]] void fail(std::string_view what, std::string_view statement) const {
    throw Error(ErrorKind::internal,
                fmt::format("{}: line {}: {}: '{}'", kernel_.name, line_, what, statement));
  }

  std::uint32_t target(const std::string& label) const {
    const auto place = labels_.find(label);
    if (place == labels_.end()) fail("there is no such label", label);
    return place->second;
  }

  void read_statement(std::string_view statement) {
    if (statement[0] != '.') return read_instruction(statement);
    if (statement.starts_with(".reg")) return declare_registers(trimmed(statement.substr(4)));
    if (statement.starts_with(".pragma") || statement.starts_with(".loc ")) return;
    const bool is_shared = statement.starts_with(".shared"), is_local = statement.starts_with(".local");
    if (!is_shared && !is_local) fail("not known", statement);
    const Declaration declared = declaration(statement);
    std::size_t& end = is_shared ? shared_end_ : kernel_.local_bytes;
    const std::size_t offset = round_up(end, declared.alignment);
    own_.emplace(declared.name, offset);
    end = offset + declared.bytes;
    if (is_shared && dynamic_is_placed_) fail("shared memory is declared behind its use", statement);
  }

  /// Declares registers: ".b32 %r<41>" declares %r0 to %r40.
  void declare_registers(std::string_view declared) {
    const std::size_t type_end = declared.find_first_of(" \t");
    const bool is_predicate = declared.substr(0, type_end) == ".pred";
    for (const std::string_view name : split_list(declared.substr(type_end))) {
      const std::size_t bracket = name.find('<');
      if (bracket != std::string_view::npos)
        families_[std::string(name.substr(0, bracket))] = is_predicate;
      else
        registers_[std::string(name)] = new_register(is_predicate);
    }
  }
  Register new_register(bool is_predicate) {
    return {is_predicate, is_predicate ? num_predicates_++ : kernel_.num_rows++};
  }

  std::optional<Register> find_register(std::string_view name) {
    if (const auto place = registers_.find(std::string(name)); place != registers_.end())
      return place->second;
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const auto family = families_.find(std::string(name.substr(0, digits)));
    if (digits == name.size() || family == families_.end()) return std::nullopt;
    return registers_[std::string(name)] = new_register(family->second);
  }

  std::int32_t constant(std::uint64_t bits) {
    const auto [place, is_new] = constants_.emplace(bits, kernel_.num_rows);
    if (is_new) kernel_.constants.push_back({kernel_.num_rows++, bits});
    return place->second;
  }

  /// Returns the address of a name in the name's own memory.
  std::uint64_t address_of(std::string_view name) {
    for (const Parameter& parameter : kernel_.parameters) {
      if (parameter.name == name) return parameter.offset;
    }
    if (const auto place = own_.find(name); place != own_.end()) return place->second;
    const auto place = shared_.find(name);
    if (place == shared_.end()) fail("not known", name);
    if (!place->second.is_dynamic) return place->second.offset;
    dynamic_is_placed_ = true;
    return round_up(shared_end_, dynamic_alignment);
  }

  Register operand(std::string_view text) {
    if (text == "_") return {false, -1};
    if (const auto known = find_register(text)) return *known;
    if (const auto value = number(text)) return {false, constant(*value)};
    return {false, constant(address_of(text))};
  }

  void add_to(Instruction& i, std::string_view text) {
    if (text[0] == '{') {
      for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) add_to(i, part);
      return;
    }
    if (const std::size_t bar = text.find('|'); bar != std::string_view::npos) {
      add_to(i, trimmed(text.substr(0, bar)));
      return add_to(i, trimmed(text.substr(bar + 1)));
    }
    if (i.num_to == i.to.size()) fail("more operands than are known", i.text);
    i.to[i.num_to++] = operand(text).index;
  }

  void add_from(Instruction& i, std::string_view text) {
    if (text[0] == '{') {
      for (const std::string_view part : split_list(text.substr(1, text.size() - 2))) add_from(i, part);
      return;
    }
    if (text[0] == '[') {
      text = trimmed(text.substr(1, text.size() - 2));
      if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
        const auto offset = number(trimmed(text.substr(plus + 1)));
        if (!offset) fail("an offset that is no number", i.text);
        i.offset = static_cast<std::int64_t>(*offset);
        text = trimmed(text.substr(0, plus));
      }
    }
    if (i.num_from == i.from.size()) fail("more operands than are known", i.text);
    const Register from = operand(text);
    if (from.is_predicate) i.mode |= opcode_ == "mov.pred" ? 1 : 0;
    i.from[i.num_from++] = from.index;
  }

  void read_guard(Instruction& i, std::string_view& rest) {
    if (rest[0] != '@') return;
    const std::size_t end = rest.find_first_of(" \t\n");
    std::string_view name = rest.substr(1, end - 1);
    i.guard_is_negated = name[0] == '!';
    if (i.guard_is_negated) name.remove_prefix(1);
    const auto guard = find_register(name);
    if (!guard || !guard->is_predicate) fail("no predicate", i.text);
    i.guard = guard->index;
    rest = trimmed(rest.substr(end));
  }

  void read_instruction(std::string_view statement) {
    Instruction i{.line = line_, .text = std::string(statement)};
    std::string_view rest = statement;
    read_guard(i, rest);
    const std::size_t end = std::min(rest.find_first_of(" \t\n"), rest.size());
    opcode_ = rest.substr(0, end);
    const std::vector<std::string_view> operands = split_list(rest.substr(end));
    if (!read_flow(i, operands)) read_operation(i, operands);
    kernel_.code.push_back(std::move(i));
  }

  /// Reads an instruction that ends a straight line; returns false if it is none.
  bool read_flow(Instruction& i, const std::vector<std::string_view>& operands) {
    if (opcode_ == "bra" || opcode_ == "bra.uni") {
      i.flow = Flow::branch;
      branches_.emplace_back(kernel_.code.size(), operands.at(0));
    } else if (opcode_ == "ret" || opcode_ == "ret.uni" || opcode_ == "exit") {
      i.flow = Flow::exit;
    } else if (opcode_ == "bar.sync" || opcode_ == "barrier.sync" || opcode_ == "barrier.sync.aligned" ||
               opcode_ == "bar.cta.sync") {
      const auto which = operands.size() == 1 ? number(operands[0]) : std::nullopt;
      if (!which) fail("only barriers of whole blocks are known", i.text);
      i.flow = Flow::barrier;
      i.offset = static_cast<std::int64_t>(*which);
    } else {
      return false;
    }
    return true;
  }

  void read_operation(Instruction& i, const std::vector<std::string_view>& operands) {
    for (const auto find : {find_arithmetic, find_comparison, find_conversion, find_approximation,
                            find_access, find_exchange}) {
      const auto operation = find(opcode_);
      if (!operation) continue;
      i.run = operation->run;
      i.mode = operation->mode;
      break;
    }
    if (i.run == nullptr) fail("an instruction that is not known", i.text);
    const bool stores = opcode_.starts_with("st.") || opcode_.starts_with("red."),
               has_none = opcode_ == "bar.warp.sync" || opcode_.starts_with("prefetch.");
    for (std::size_t n = 0; n < operands.size(); ++n) {
      const bool is_result = !has_none && (stores ? n > 0 : n == 0);
      is_result ? add_to(i, operands[n]) : add_from(i, operands[n]);
    }
  }

  Kernel& kernel_;
  const std::map<std::string, SharedName, std::less<>>& shared_;
  std::map<std::string, std::size_t, std::less<>> own_;  // declared in the body
  std::unordered_map<std::string, Register> registers_;
  std::unordered_map<std::string, bool> families_;  // true: predicates
  std::unordered_map<std::uint64_t, std::int32_t> constants_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::string_view opcode_;
  std::size_t shared_end_ = 0;
  bool dynamic_is_placed_ = false;
  std::int32_t num_predicates_ = 0;
  std::uint32_t line_ = 1;
};

/// Returns the product of a directive such as ".maxntid 768, 1, 1".
unsigned most_threads(std::string_view directives, unsigned otherwise) {
  const std::size_t at = directives.find(".maxntid");
  if (at == std::string_view::npos) return otherwise;
  const std::string_view list = directives.substr(at + 8, directives.find_first_of(".{", at + 8) - at - 8);
  unsigned product = 1;
  for (const std::string_view part : split_list(list))
    product *= static_cast<unsigned>(number(part.substr(0, part.find_first_of(" \t\n"))).value_or(1));
  return product;
}

}  // namespace

Kernel read_kernel(const std::string& name, std::string_view text,
                   const std::map<std::string, SharedName, std::less<>>& shared) {
  Kernel kernel{.name = name};
  Reader reader(kernel, shared);
  const std::size_t end = closing(text, 0), body = text.find('{', end);
  reader.read_parameters(text.substr(1, end - 1));
  kernel.most_threads = most_threads(text.substr(end, body - end), kernel.most_threads);
  reader.read_body(text.substr(body + 1, text.size() - body - 2));
  find_meetings(kernel.code);
  return kernel;
}

}  // namespace dt::ptx
