#include "bench/report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

RunDescription sample_run() {
  RunDescription run;
  run.command = "dt-allreduce-bench -b 8, 'a b'";
  run.date = "2026-01-31T12:00:00Z";
  run.dt_version = "dt 0.1.0, gcc 12.2.0";
  run.mpi_version = "Some \"MPI\", v4";
  run.hosts = {{"n1", 2}, {"n2", 2}};
  run.device = "cuda";
  run.gpus = {{"Some GPU", 3}, {"Other GPU", 1}};
  run.num_ranks = 4;
  run.min_bytes = 8;
  run.max_bytes = 1 << 20;
  run.step = "2 (factor)";
  return run;
}

std::vector<Section> sample_sections() {
  const Problem reduce{.operation = Operation::all_reduce, .num_ranks = 4, .numel = 1000};
  Section first{Operation::all_reduce, "mpi", {}};
  first.rows.push_back({reduce, "mpi", {2e-6, 1e-6, 1.5e-6, 0}, Timing{4e-6, 1e-6, 2e-6, 3}});
  Section second{Operation::barrier, "dt", {}};
  second.rows.push_back({{.operation = Operation::barrier, .num_ranks = 4},
                         "dt",
                         {3e-6, 1e-6, 2e-6, std::nullopt},
                         std::nullopt});
  return {first, second};
}

std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> all;
  for (const std::string& word : split(line, ' ')) {
    if (!trim(word).empty()) all.emplace_back(trim(word));
  }
  return all;
}

}  // namespace

TEST_CASE("bandwidths follow from the slowest rank's time") {
  const Row row = sample_sections()[0].rows[0];
  CHECK(row.algorithm_bandwidth(row.out_of_place) == Approx(2));  // 4,000 bytes in 2 us
  CHECK(row.bus_bandwidth(row.out_of_place) == Approx(3));
  CHECK(sample_sections()[0].mean_bus_bandwidth() == Approx(2.25));
  CHECK(sample_sections()[0].wrong() == 3);
}

TEST_CASE("a row has nccl-tests' thirteen columns") {
  const auto cells = words(table_row(sample_sections()[0].rows[0]));
  CHECK(cells == std::vector<std::string>{"4000", "1000", "float", "sum", "-1", "2.00", "2.00", "3.00", "0",
                                          "4.00", "1.00", "1.50", "3"});
  const auto barrier = words(table_row(sample_sections()[1].rows[0]));
  CHECK(barrier == std::vector<std::string>{"0", "0", "none", "none", "-1", "3.00", "0.00", "0.00", "N/A",
                                            "N/A", "N/A", "N/A", "N/A"});
}

TEST_CASE("headings stand over their columns, and all but rows begin with #") {
  const std::string section = table_section(Operation::all_reduce, "mpi");
  const std::string row = table_row(sample_sections()[0].rows[0]);
  for (const std::string& line : split(table_head(sample_run()) + section, '\n'))
    CHECK((line.empty() || line.starts_with("#")));
  CHECK(table_head(sample_run()).find("\n# device cuda: Some GPU (3), Other GPU (1)\n") != std::string::npos);
  const auto lines = split(section, '\n');
  const std::string& heading = lines.at(4);
  for (const char* column : {"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"}) {
    const std::size_t end = heading.find(column) + std::string(column).size();
    INFO(column);
    CHECK(row.at(end - 1) != ' ');
    CHECK(row.at(end) == ' ');
  }
  CHECK(heading.size() + 1 == row.size());
  const std::string foot = table_foot(sample_sections()[0], true);
  CHECK(foot.find("# Out of bounds values : 3 FAILED\n") != std::string::npos);
  CHECK(foot.find("# Avg bus bandwidth    : 2.25\n") != std::string::npos);
  CHECK(table_foot(sample_sections()[1], false).empty());
}

TEST_CASE("JSON lines and the document say the same") {
  const auto sections = sample_sections();
  const auto document = nlohmann::json::parse(json_document(sample_run(), sections));
  CHECK(document["hosts"][1] == nlohmann::json{{"host", "n2"}, {"ranks", 2}});
  CHECK(document["device"] == "cuda");
  CHECK(document["gpus"][0] == nlohmann::json{{"gpu", "Some GPU"}, {"ranks", 3}});
  CHECK(document["mpi_version"] == "Some \"MPI\", v4");
  REQUIRE(document["results"].size() == 2);
  auto line = nlohmann::json::parse(json_row_line(sections[0].rows[0]));
  CHECK(line["kind"] == "result");
  line.erase("kind");
  CHECK(line == document["results"][0]);
  CHECK(line["size"] == 4000);
  CHECK(line["out_of_place"]["time_us"] == 2.0);
  CHECK(line["out_of_place"]["busbw_gb_s"] == 3.0);
  CHECK(line["in_place"]["wrong"] == 3);
  CHECK(document["results"][1]["in_place"].is_null());
  CHECK(document["results"][1]["out_of_place"]["wrong"].is_null());
  CHECK(document["summaries"][0]["wrong"] == 3);
  CHECK(nlohmann::json::parse(json_run_line(sample_run()))["kind"] == "run");
  CHECK(nlohmann::json::parse(json_section_line(sections[0]))["mean_busbw_gb_s"] == 2.25);
}

TEST_CASE("CSV has as many cells in every line as in its heading, and quotes what needs it") {
  const auto lines = split(csv_document(sample_run(), sample_sections()), '\n');
  REQUIRE(lines.size() == 4);  // the last is what follows the last newline
  const auto cells = [](const std::string& line) {
    std::vector<std::string> all(1);
    bool quoted = false;
    for (const char letter : line) {
      if (letter == '"') quoted = !quoted;
      if (letter == ',' && !quoted) {
        all.emplace_back();
      } else {
        all.back() += letter;
      }
    }
    return all;
  };
  const auto heading = cells(lines[0]), first = cells(lines[1]), second = cells(lines[2]);
  CHECK(heading.size() == first.size());
  CHECK(heading.size() == second.size());
  CHECK(heading[0] == "operation");
  const auto value = [&](const std::vector<std::string>& row, const std::string& column) {
    const auto at = std::find(heading.begin(), heading.end(), column);
    REQUIRE(at != heading.end());
    return row[static_cast<std::size_t>(at - heading.begin())];
  };
  CHECK(value(first, "size") == "4000");
  CHECK(value(first, "out_of_place_time_us") == "2.0");
  CHECK(value(first, "in_place_wrong") == "3");
  CHECK(value(second, "in_place_time_us").empty());
  CHECK(value(first, "hosts") == "n1:2 n2:2");
  CHECK(value(first, "device") == "cuda");
  CHECK(value(first, "gpus") == "\"Some GPU:3, Other GPU:1\"");
  CHECK(value(first, "mpi_version") == "\"Some \"\"MPI\"\", v4\"");
  CHECK(value(first, "command") == "\"dt-allreduce-bench -b 8, 'a b'\"");
}

TEST_CASE("names are counted in the order of ranks, and arguments quoted as for a shell") {
  CHECK(count_names({"b", "a", "b"}) == std::vector<std::pair<std::string, int>>{{"b", 2}, {"a", 1}});
  CHECK(shell_line({"x", "-b", "8", "a b", "it's", ""}) == "x -b 8 'a b' 'it'\\''s' ''");
}
