#include "device/ptx/module.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "device/ptx/body.hpp"
#include "device/ptx/text.hpp"

namespace dt::ptx {

Module::Module(std::string text) : text_(without_comments(text)) {
  const std::string_view all = text_;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find_first_of(";(\n", at);
    if (end == std::string_view::npos) break;
    const std::string_view statement = trimmed(all.substr(at, end - at));
    at = end + 1;
    if (all[end] != '(') {
      read_statement(statement);
      continue;
    }
    DT_CHECK(statement.find(".func") == std::string_view::npos, "PTX: '{}': functions are not called here",
             statement);
    const std::size_t body = all.find('{', closing(all, end)), last = closing(all, body);
    const std::string_view name = trimmed(statement.substr(statement.find(".entry") + 6));
    entries_.emplace(name, all.substr(end, last + 1 - end));
    at = last + 1;
  }
}

void Module::read_statement(std::string_view statement) {
  if (statement.find(".shared") == std::string_view::npos) return;
  const Declaration declared = declaration(statement);
  std::size_t offset = 0;
  for (const auto& [name, other] : shared_) offset = std::max(offset, other.offset + other.bytes);
  shared_[declared.name] = {round_up(offset, declared.alignment), declared.bytes, declared.bytes == 0};
}

const Kernel& Module::kernel(const std::string& name) {
  auto& kernel = kernels_[name];
  if (!kernel) {
    const auto entry = entries_.find(name);
    DT_CHECK(entry != entries_.end(), "PTX: there is no kernel {}", name);
    kernel = std::make_unique<Kernel>(read_kernel(name, entry->second, shared_));
  }
  return *kernel;
}

std::vector<std::string> Module::kernel_names() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : entries_) names.push_back(name);
  return names;
}

}  // namespace dt::ptx
