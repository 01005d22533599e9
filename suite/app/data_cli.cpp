#include "suite/app/data_cli.h"

#include <iostream>
#include <memory>
#include <set>

#include "suite/app/command_line.h"
#include "suite/app/data_command.h"

namespace normbench {
namespace {

DataCommandOptions common_options(const Project& project) {
  return {.specs = project.tables() + "/data.json", .cache_folder = project.cache()};
}

/// Data sets that the selected tables and tiers train on and that can be fetched: the user's own
/// shards are left out, and measurements read no text.
std::vector<std::string> datasets_of(const Project& project, const std::string& only,
                                     const std::string& tier) {
  std::set<std::string> names;
  const Plan plan(project, only, tier);
  for (const auto& planned : plan.tiers())
    for (const auto& run : planned.runs)
      if (!run.run_id.empty() && !run.dataset.empty()) names.insert(run.dataset);
  return {names.begin(), names.end()};
}

}  // namespace

void add_data_command(CLI::App& app, const std::function<Project()>& project, int& code) {
  auto* data = app.add_subcommand("data", "corpora, tokenizers and token shards");
  data->require_subcommand(1);

  data->add_subcommand("list", "every data set, and whether it is prepared")
      ->callback([&code, project] { code = data_list(common_options(project())); });

  struct Prepare {
    DataPrepareOptions options;
    std::string tier, only;
  };
  const auto prepare = std::make_shared<Prepare>();
  auto* p =
      data->add_subcommand("prepare", "fetch, tokenize and shard; does nothing when all is there");
  auto* names_given =
      p->add_option("names", prepare->options.names,
                    "data sets of suite/tables/data.json (default: what --tier and --only need)");
  auto* tier = p->add_option("--tier", prepare->tier, "what this tier trains on");
  auto* only = p->add_option("--only", prepare->only, "what this paper or table trains on");
  p->add_flag("--again", prepare->options.again, "even if it is there and whole");
  auto* deb = p->add_option("--deb", prepare->options.deb,
                            "package file of the corpus, where apt-get cannot fetch it");
  auto* name = p->add_option("--name", prepare->options.name,
                             "name of a data set of your own, with one of:");
  p->add_option("--text", prepare->options.text, "plain text files")->needs(name);
  p->add_option("--jsonl", prepare->options.jsonl,
                "JSON lines with a key \"text\" (.jsonl or .jsonl.zst)")
      ->needs(name);
  auto* llmc =
      p->add_option("--llmc-shards", prepare->options.llmc_shards,
                    "llm.c token shards; those with the word val in their name are held out")
          ->needs(name);
  auto* nanogpt = p->add_option("--nanogpt", prepare->options.nanogpt,
                                "folder with nanoGPT's train.bin and val.bin")
                      ->needs(name);
  p->add_option("--megatron", prepare->options.megatron, "prefix of Megatron-LM's .bin and .idx")
      ->needs(name);
  p->add_option("--vocabulary", prepare->options.vocabulary,
                "vocabulary of the tokenizer or of the shards")
      ->needs(name);
  p->add_option("--validation-share", prepare->options.validation_share,
                "share held out of your own text")
      ->needs(name)
      ->excludes(llmc)
      ->excludes(nanogpt)
      ->capture_default_str();
  for (auto* selection : {tier, only}) {
    selection->check(kNotEmpty);
    selection->excludes(names_given);
    selection->excludes(name);
  }
  deb->check(kNotEmpty)->excludes(name);
  name->check(kNotEmpty)->excludes(names_given);
  p->callback([&code, project, prepare] {
    const Project where = project();
    if (prepare->options.names.empty() && prepare->options.name.empty())
      prepare->options.names = datasets_of(where, prepare->only, prepare->tier);
    if (prepare->options.names.empty() && prepare->options.name.empty() &&
        prepare->options.deb.empty()) {
      std::cout << "this selection needs no data set that can be fetched\n";
      return;
    }
    code = data_prepare(common_options(where), prepare->options);
  });

  const auto names = std::make_shared<std::vector<std::string>>();
  auto* verify =
      data->add_subcommand("verify", "read everything again; names the byte range of a change");
  verify->add_option("names", *names, "data sets (default: all that are prepared)");
  verify->callback(
      [&code, project, names] { code = data_verify(common_options(project()), *names); });
}

}  // namespace normbench
