// Prints a ledger and writes a page from invented records: `normbench_report_demo OUT_FOLDER`. For
// work on their looks.
#include <chrono>
#include <iostream>

#include "suite/base/files.h"
#include "suite/judge/ledger.h"
#include "suite/judge/report.h"
#include "suite/judge/testing/synthetic.h"

int main(int argc, char** argv) {
  using namespace normbench;
  const std::string out = argc > 1 ? argv[1] : "demo";
  testing::SyntheticOptions options;
  options.token_ratio = {
      {"gpt_plus", 1.0}, {"gpt_plus_literal_init", .8}, {"ngpt", .93}, {"angpt", 1.3}};
  options.step_seconds = {
      {"gpt_plus", .100}, {"gpt_plus_literal_init", .1}, {"ngpt", .125}, {"angpt", .109}};
  options.datasets = {"gcide_1k", "prose_1k"};
  options.tokens_per_step = 2048;
  JudgeInput input = testing::synthetic_input(options);
  input.claims.push_back({{"id", "ngpt_speed_up"},
                          {"statement", "nGPT needs fewer tokens than GPT+ for the same loss"},
                          {"rule", "speed_up"},
                          {"challenger", "ngpt"},
                          {"reference", "gpt_plus"},
                          {"published", "/speed_up"}});
  testing::TemporaryFolder runs;
  testing::write_all(runs.path(), input, options);
  testing::write_record(runs.path(), input.runs.back(), options, {.diverged = true});
  std::filesystem::remove_all(runs.path(input.runs.front().run_id));
  const auto start = std::chrono::steady_clock::now();
  const Json ledger = judge_table(input, runs.path(), "baselines");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << ledger_text(ledger) << "\njudged in " << took.count() << " s\n";
  write_json(out + "/ledger.json", ledger);
  write_report({ledger, ledger}, out + "/index.html");
}
