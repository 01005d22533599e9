// Every golden file agrees, and parity says no to a wrong number in any tensor and to a missing or
// extra one.
#include "suite/app/parity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>

#include "suite/app/parity_model.h"
#include "suite/app/testing/golden_copy.h"
#include "suite/base/errors.h"
#include "suite/base/safetensors.h"
#include "suite/base/testing/interrupted.h"

namespace normbench {
namespace {

using namespace testing::golden_copy;

TEST(Parity, EveryGoldenFileAgrees) {
  const auto files = golden_files();
  EXPECT_GE(files.size(), 131u);
  for (const auto& file : files) {
    const auto report = check_parity(file);
    EXPECT_TRUE(report.passed()) << parity_text(report);
    // float64 against float64, errors of 1e-12 and less; the Hessian of a network is a second
    // derivative through all of it.
    EXPECT_LE(report.tolerance, report.kind.starts_with("hessian of ") ? 1e-8 : 1e-9) << file;
    const auto num_tensors = static_cast<int64_t>(SafetensorsFile(file).tensors().size());
    EXPECT_GE(static_cast<int64_t>(report.rows.size()) + report.num_read, num_tensors) << file;
  }
}

/// What parity would compare of a whole model and the file lacks. The file has every parameter:
/// parity refuses it otherwise.
std::vector<std::string> lacks(const Copy& file) {
  std::vector<std::string> names = {"out.logits", "out.loss"};
  const auto config = parse_json(file.metadata.at("config"), "config");
  for (int64_t i = 0; i < config.at("n_layers").get<int64_t>(); ++i)
    names.push_back("out.hidden." + std::to_string(i));
  for (const auto& [name, tensor] : file.tensors)
    if (name.starts_with("param.") && !name.ends_with("router.bias"))  // a buffer
      names.push_back("grad." + name.substr(6));
  std::erase_if(names, [&](const auto& name) { return file.tensors.count(name) != 0; });
  return names;
}

// A file that lost most of its tensors would agree in those that are left.
TEST(Parity, EveryFileOfAWholeModelHasLogitsEachHiddenStateAndEachGradient) {
  // Files beside a complete one of the same model: folding, three steps, an activation Hessian.
  const std::set<std::string> of_something_else = {"angpt-folded",
                                                   "angpt-train3",
                                                   "hessian-net-prenorm",
                                                   "hessian-net-simplegpt",
                                                   "hessian-net-qknorm_full",
                                                   "ngpt-train3"};
  std::set<std::string> complete, incomplete;
  for (const auto& path : golden_files()) {
    const Copy file(path);
    if (!parse_json(file.metadata.at("config"), path).contains("n_layers")) continue;
    if (lacks(file).empty())
      complete.insert(file.metadata.at("model"));
    else
      incomplete.insert(std::filesystem::path(path).stem());
  }
  EXPECT_EQ(incomplete, of_something_else);
  auto kinds = parity_decoder_kinds();
  for (const char* kind : {"angpt", "gpt_plus", "hybrid_prenorm", "mamba2", "ngpt", "ngpt_hybrid"})
    kinds.emplace_back(kind);
  for (const auto& kind : kinds) EXPECT_TRUE(complete.count(kind)) << kind;

  for (const std::string name : {"out.logits", "out.hidden.1", "grad.blocks.1.mlp.alpha"}) {
    Copy file(kFolder + "ngpt-rotation.safetensors");
    file.tensors.erase(name);
    EXPECT_EQ(lacks(file), std::vector{name});
  }
}

TEST(Parity, OneWrongEntryInAnyKindOfTensorFails) {
  for (const auto& file : golden_files()) {
    const Copy intact(file);
    std::set<std::string>
        seen;  // the kind of a tensor is its name without the numbers of block, step and batch
    for (const auto& [name, tensor] : intact.tensors) {
      if (!seen.insert(std::regex_replace(name, std::regex("[0-9]+"), "#")).second) continue;
      // A constant added to every key shifts all scores of a row equally: without RoPE nothing
      // depends on it.
      if (name.starts_with("param.") && name.ends_with("attn.k.bias")) continue;
      // Nor does the Hessian behind a norm without eps depend on the factor of the matrix.
      const auto& file_name = std::filesystem::path(file).stem().string();
      if (name == "input.c" && !file_name.ends_with("-eps") &&
          (file_name.starts_with("hessian-simplenorm") || file_name == "hessian-net-simplegpt"))
        continue;
      Copy copy = intact;
      copy.damage(name);
      EXPECT_FALSE(check_parity(copy.write()).passed()) << file << " " << name;
    }
  }
}

TEST(Parity, ATensorThatNothingComputesFails) {
  for (const auto& file : golden_files()) {
    Copy copy(file);
    for (const std::string name : {"grad.surplus", "param.surplus", "unknown"})
      copy.tensors[name] = {"F64", {}, std::string(8, '\0')};
    if (copy.metadata.at("model") == "optim")
      copy.tensors.erase("param.surplus");  // there it is a parameter
    const auto report = check_parity(copy.write());
    EXPECT_FALSE(report.passed()) << file;
    EXPECT_TRUE(std::isinf(error_of(report, "grad.surplus"))) << parity_text(report);
  }
}

TEST(Parity, NotANumberIsNeverEqual) {
  const auto report = damaged("gpt_plus", [](Copy& c) {
    c.tensors.at("out.logits").values<double>()[3] = std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_TRUE(std::isinf(error_of(report, "out.logits")));
}

TEST(Parity, ExitCodesSayAgreesDiffersWrongFile) {
  ::testing::internal::CaptureStdout();
  const std::string good = kFolder + "op-rope.safetensors";
  EXPECT_EQ(run_parity({good}), kExitOk);
  Copy copy(good);
  copy.damage("out.half");
  const auto bad = copy.write();
  EXPECT_EQ(run_parity({bad, good}), kExitCheckRed);
  EXPECT_EQ(run_parity({"/nowhere.safetensors", bad, good}), kExitWrongUse);
  const auto printed = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(printed.find("FAIL"), std::string::npos);
  EXPECT_NE(printed.find("out.half "), std::string::npos);
}

TEST(Parity, ASignalEndsItBetweenTwoFiles) {
  EXPECT_EXIT(testing::run_after_a_signal([] { run_parity({"/nowhere.safetensors"}); }),
              ::testing::ExitedWithCode(kExitInterrupted), "");
}

}  // namespace
}  // namespace normbench
