#include "bench/report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/text/text.hpp"

using namespace dt;
using namespace dt::bench;

namespace {

RunDescription sample_run() {
  RunDescription run;
  run.command = "dt-allreduce-bench -b 8, 'a b'";
  run.date = "2026-01-31T12:00:00Z";
  run.dt_version = "dt 0.2.0, gcc 12.2.0";
  run.mpi_version = "Some \"MPI\", v4";
  run.hosts = {{"n1", 2}, {"n2", 2}};
  run.device = "cuda";
  run.gpus = {{"Some GPU", 3}, {"Other GPU", 1}};
  run.environment = {{"NCCL_DEBUG", "INFO"}, {"UCX_TLS", "rc, sm"}};
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

Results sample_results() {
  Results results{.sections = sample_sections()};
  results.places = {{"n1", "cuda:0", "Some GPU", "0000:01:00.0"},
                    {"n2", "cuda:0", "Some GPU", "0000:41:00.0"}};
  const RelativeRate good{700, false}, bad{700, true}, none{};
  results.devices = {{0, results.places[0], {700, 1000, 50, 0}, {good, good, good, none}},
                     {1, results.places[1], {310, 1000, 12, 0}, {bad, good, bad, none}}};
  const Link link{.pair = {0, 1},
                  .small_bytes = 8,
                  .bytes = 1'000'000,
                  .latency_s = 2.5e-6,
                  .seconds = 1e-4,
                  .wrong = 0,
                  .standing = {25, true}};
  results.links = {{"dt", {link}}};
  return results;
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
  CHECK(table_head(sample_run()).find("\n# environment NCCL_DEBUG=INFO 'UCX_TLS=rc, sm'\n") !=
        std::string::npos);
  CHECK(table_head({}).find("environment") == std::string::npos);
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
  const auto document = nlohmann::json::parse(json_document(sample_run(), {.sections = sections}));
  CHECK(document["hosts"][1] == nlohmann::json{{"host", "n2"}, {"ranks", 2}});
  CHECK(document["device"] == "cuda");
  CHECK(document["gpus"][0] == nlohmann::json{{"gpu", "Some GPU"}, {"ranks", 3}});
  CHECK(document["environment"]["UCX_TLS"] == "rc, sm");
  CHECK_FALSE(document.contains("devices"));
  CHECK_FALSE(document.contains("links"));
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
  const auto lines = split(csv_document(sample_run(), {.sections = sample_sections()}), '\n');
  REQUIRE(lines.size() == 4);  // the last is the empty text behind the last newline
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
  CHECK(value(first, "environment") == "\"NCCL_DEBUG=INFO 'UCX_TLS=rc, sm'\"");
  CHECK(value(first, "mpi_version") == "\"Some \"\"MPI\"\", v4\"");
  CHECK(value(first, "command") == "\"dt-allreduce-bench -b 8, 'a b'\"");
}

TEST_CASE("devices have a row each, with what of them is slow, and links") {
  const Results results = sample_results();
  const std::string devices = device_table(results.devices),
                    links = link_table(results.links[0], results.places);
  std::vector<std::string> rows;
  for (const std::string& line : split(devices + links, '\n')) {
    if (!line.empty() && !line.starts_with("#")) rows.push_back(line);
  }
  REQUIRE(rows.size() == 3);
  CHECK(words(rows[0]) == words("0 700 1000 50 N/A n1, cuda:0 (Some GPU, 0000:01:00.0)"));
  CHECK(words(rows[1]) ==
        words("1 310 1000 12 N/A n2, cuda:0 (Some GPU, 0000:41:00.0) SLOW: product, to host"));
  CHECK(words(rows[2]) == words("0 1 between 2.50 10 0 n1 - n2 SLOW"));
  CHECK(devices.find("\n# median         700         700         700         N/A  Some GPU\n") !=
        std::string::npos);
  CHECK(links.find("latency of 8 bytes, bidirectional bandwidth of 1000000") != std::string::npos);
  CHECK(links.find("\n# median between hosts : 25 GB/s\n") != std::string::npos);
}

TEST_CASE("JSON says of devices and links what the table says") {
  const Results results = sample_results();
  const auto document = nlohmann::json::parse(json_document(sample_run(), results));
  const auto device = nlohmann::json::parse(split(json_device_lines(results.devices), '\n').at(1));
  CHECK(device["kind"] == "device");
  CHECK(device["rank"] == 1);
  CHECK(device["address"] == "0000:41:00.0");
  CHECK(device["product_tflop_s"] == 310.0);
  CHECK(device["median_product_tflop_s"] == 700.0);
  CHECK(device["from_host_gb_s"].is_null());
  CHECK(device["slow"] == nlohmann::json{"product", "to host"});
  const auto link = nlohmann::json::parse(json_link_lines(results.links[0], results.places));
  CHECK(link["kind"] == "link");
  CHECK(link["backend"] == "dt");
  CHECK(link["rank"] == 0);
  CHECK(link["peer_host"] == "n2");
  CHECK(link["latency_us"] == 2.5);
  CHECK(link["bandwidth_gb_s"] == 10.0);
  CHECK(link["median_bandwidth_gb_s"] == 25.0);
  CHECK(link["slow"] == true);
  CHECK(document["devices"].size() == 2);
  CHECK(document["links"][0]["latency_us"] == 2.5);
  CHECK(document["results"].size() == 2);
}

TEST_CASE("rows of several kinds share a CSV, whose columns are those of all") {
  const auto lines = split(csv_document(sample_run(), sample_results()), '\n');
  REQUIRE(lines.size() == 7);  // a heading, two devices, a link, two results, the empty text at the end
  for (const char* column : {"product_tflop_s", "peer_host", "kind", "out_of_place_time_us", "date"})
    CHECK(("," + lines[0] + ",").find("," + std::string(column) + ",") != std::string::npos);
  CHECK(lines[2].starts_with("1,n2,cuda:0,Some GPU,0000:41:00.0,310.0,700.0,"));
  CHECK(lines[2].find(",\"product, to host\",device,") != std::string::npos);
  CHECK(lines[3].find(",link,") != std::string::npos);
  CHECK(lines[4].find(",result,") != std::string::npos);
}

TEST_CASE("names are counted in the order of ranks, and arguments quoted as for a shell") {
  CHECK(count_names({"b", "a", "b"}) == std::vector<std::pair<std::string, int>>{{"b", 2}, {"a", 1}});
  CHECK(shell_line({"x", "-b", "8", "a b", "it's", ""}) == "x -b 8 'a b' 'it'\\''s' ''");
}
