#include "data/build/split_rule.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "data/build/document_spool.hpp"
#include "data/build/spool_writer.hpp"

using namespace dt;
using namespace dt::data;

namespace {

/// Returns those of `documents` that validate. All documents begin with the same token.
std::vector<std::uint32_t> validating(const std::vector<std::uint32_t>& documents, SplitBy by,
                                      double fraction, std::uint64_t seed = 0) {
  const dt_test::Folder folder;
  SpoolWriter writer(folder.path(), {}, 1);
  writer.begin_range(0);
  for (const std::uint32_t document : documents) {
    writer.append(std::vector<std::uint32_t>{7, document});
    writer.end_document();
  }
  writer.end_range({}, {});
  writer.finish();
  const DocumentSpool spool(folder.path(), 1, 2);
  SplitRule rule(by, fraction, seed, spool);
  std::vector<std::uint32_t> found;
  std::size_t i = 0;
  spool.visit([&](const SpooledDocument& document) {
    if (rule.next(document) == Split::validation) found.push_back(documents[i]);
    ++i;
  });
  return found;
}

std::vector<std::uint32_t> numbers(std::uint32_t begin, std::uint32_t end) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t i = begin; i < end; ++i) list.push_back(i);
  return list;
}

}  // namespace

TEST_CASE("by order the last documents validate, at least one and never all") {
  CHECK(validating(numbers(0, 10), SplitBy::order, 0.2) == numbers(8, 10));
  CHECK(validating(numbers(0, 10), SplitBy::order, 0.001) == numbers(9, 10));
  CHECK(validating(numbers(0, 3), SplitBy::order, 0.99) == numbers(1, 3));
  CHECK(validating(numbers(0, 10), SplitBy::order, 0).empty());
}

TEST_CASE("by digest a document stays on its side, whatever else comes or goes") {
  const std::vector<std::uint32_t> all = validating(numbers(0, 4000), SplitBy::digest, 0.1);
  CHECK(all.size() > 330);
  CHECK(all.size() < 470);
  std::vector<std::uint32_t> of_later;
  std::copy_if(all.begin(), all.end(), std::back_inserter(of_later), [](auto i) { return i >= 1000; });
  CHECK(validating(numbers(1000, 4000), SplitBy::digest, 0.1) == of_later);
  const std::vector<std::uint32_t> more = validating(numbers(0, 4000), SplitBy::digest, 0.2);
  CHECK(std::includes(more.begin(), more.end(), all.begin(), all.end()));
  CHECK(validating(numbers(0, 4000), SplitBy::digest, 0.1, 1) != all);
  CHECK(validating(numbers(0, 4000), SplitBy::digest, 0).empty());
}
