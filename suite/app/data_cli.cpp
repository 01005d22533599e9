#include "suite/app/data_cli.h"

#include <iostream>
#include <memory>
#include <set>

#include "data/shard.h"
#include "suite/app/command_line.h"
#include "suite/app/data_command.h"

namespace normbench {
namespace {

/// Data sets that the selected tables and tiers train on; measurements read no text.
std::vector<std::string> datasets_of(const Project& project, const std::string& only,
                                     const std::string& tier) {
  std::set<std::string> names;
  const Plan plan(project, only, tier);
  for (const auto& planned : plan.tiers())
    for (const auto& run : planned.runs)
      if (!run.dataset.empty()) names.insert(run.dataset);
  return {names.begin(), names.end()};
}

}  // namespace

void add_data_command(CLI::App& app, const std::function<Project()>& project, int& code) {
  auto* data = app.add_subcommand("data", "corpora, tokenizers and token shards");
  data->require_subcommand(1);

  data->add_subcommand("list", "every data set, and whether it is prepared")
      ->callback([&code, project] { code = data_list(project()); });

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
  auto* text = p->add_option("--text", prepare->options.text,
                             "plain text files; a document, of which the held-out share is taken, "
                             "is 4 kB of a file and on to the next blank line")
                   ->needs(name);
  auto* jsonl = p->add_option("--jsonl", prepare->options.jsonl,
                              "JSON lines with a key \"text\" (.jsonl or .jsonl.zst); a document "
                              "is a line")
                    ->needs(name);
  auto* llmc =
      p->add_option("--llmc-shards", prepare->options.llmc_shards,
                    "llm.c token shards; those with the word val in their name are held out")
          ->needs(name);
  auto* nanogpt = p->add_option("--nanogpt", prepare->options.nanogpt,
                                "folder with nanoGPT's train.bin and val.bin")
                      ->needs(name);
  auto* megatron = p->add_option("--megatron", prepare->options.megatron,
                                 "prefix of Megatron-LM's .bin and .idx")
                       ->needs(name);
  p->add_option("--vocabulary", prepare->options.vocabulary,
                "of the tokenizer that is made of your text (default: 4096), or of the one that "
                "made the shards (default: their largest id + 1; at most 65536 where a token has "
                "two bytes)")
      ->needs(name)
      ->check(whole_number_within(1, kMostVocabulary));
  p->add_option("--validation-share", prepare->options.validation_share,
                "share held out of your own text")
      ->needs(name)
      ->excludes(llmc)
      ->excludes(nanogpt)
      ->capture_default_str();
  for (auto* source : {text, jsonl, llmc, nanogpt, megatron}) source->check(kNotEmpty);
  for (auto* selection : {tier, only}) {
    selection->check(kNotEmpty);
    selection->excludes(names_given);
    selection->excludes(name);
  }
  deb->check(kNotEmpty)->excludes(name);
  name->check(kNotEmpty)->excludes(names_given);
  p->callback([&code, project, prepare] {
    const Project where = project();
    DataPrepareOptions& options = prepare->options;
    options.selected = options.names.empty() && options.name.empty();
    if (options.selected) options.names = datasets_of(where, prepare->only, prepare->tier);
    if (options.selected && options.names.empty() && options.deb.empty()) {
      std::cout << "this selection needs no data set\n";
      return;
    }
    code = data_prepare(where, options);
  });

  const auto names = std::make_shared<std::vector<std::string>>();
  auto* verify =
      data->add_subcommand("verify", "read everything again; names the byte range of a change");
  verify->add_option("names", *names, "data sets (default: all that are prepared)");
  verify->callback([&code, project, names] { code = data_verify(project(), *names); });
}

}  // namespace normbench
