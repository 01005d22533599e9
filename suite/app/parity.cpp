#include "suite/app/parity.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "models/model.h"
#include "suite/app/parity_case.h"
#include "suite/base/errors.h"
#include "suite/base/interrupt.h"

namespace normbench {

namespace {

struct Checker {
  const char* kind;  // the file's `model`
  std::string (*check)(ParityCase& golden);
};
constexpr Checker kCheckers[] = {{"hybrid_prenorm", check_hybrid_parity},
                                 {"mamba2", check_hybrid_parity},
                                 {"moe_sigmoid", check_hybrid_parity},
                                 {"ngpt_hybrid", check_hybrid_parity},
                                 {"op", check_op_parity},
                                 {"optim", check_optim_parity},
                                 {"schedule", check_schedule_parity}};

std::string exponent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

}  // namespace

bool ParityReport::passed() const {
  return !rows.empty() && std::all_of(rows.begin(), rows.end(),
                                      [&](const auto& row) { return row.error <= tolerance; });
}

ParityReport check_parity(const std::string& path) {
  at::set_num_threads(1);  // the tensors are tiny: threads would only wait for one another
  ParityCase golden(path);
  for (const auto& checker : kCheckers)
    if (golden.kind() == checker.kind) return golden.finish(checker.check(golden));
  return golden.finish(check_model_parity(golden));
}

std::string parity_text(const ParityReport& report) {
  std::string text = report.file + ": " + report.kind + "\n";
  const ParityRow* worst = nullptr;
  size_t width = 0;
  for (const auto& row : report.rows) {
    width = std::max(width, row.name.size());
    if (!worst || row.error > worst->error) worst = &row;
  }
  for (const auto& row : report.rows) {
    text += "  " + row.name + std::string(width - row.name.size() + 2, ' ') + exponent(row.error);
    if (row.error > report.tolerance) text += "  DIFFERS";
    text += (row.note.empty() ? "" : "  " + row.note) + "\n";
  }
  text += std::string("  ") + (report.passed() ? "PASS" : "FAIL") + ": " +
          std::to_string(report.rows.size()) + " values compared, " +
          std::to_string(report.num_read) + " tensors read";
  if (worst) text += ", worst " + exponent(worst->error) + " (" + worst->name + ")";
  return text + ", tolerance " + exponent(report.tolerance) + "\n";
}

int run_parity(const std::vector<std::string>& files) {
  int exit_code = kExitOk;
  const auto refuse = [&](const std::string& file, const std::string& why) {
    std::cout << file << ": ERROR\n" << why << "\n";
    exit_code = kExitWrongUse;
  };
  for (const auto& file : files) {
    stop_if_interrupted();
    try {
      const auto report = check_parity(file);
      std::cout << parity_text(report);
      if (!report.passed()) exit_code = std::max<int>(exit_code, kExitCheckRed);
    } catch (const UserError& error) {
      refuse(file, error.what());
    } catch (const std::exception& error) {
      // A shape or a token that LibTorch refuses; what follows the first line is its own trace.
      const std::string text = error.what();
      refuse(file, text.substr(0, text.find('\n')));
    }
  }
  return exit_code;
}

}  // namespace normbench
