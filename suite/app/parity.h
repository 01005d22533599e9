// `normbench parity FILE...`: rebuilds what a golden file describes (model, operator, optimiser,
// schedule) and compares every tensor of the file. Format of the files: baselines/golden/README.md.
#pragma once

#include <string>
#include <vector>

namespace normbench {

struct ParityRow {
  std::string name;  // of a tensor, or of a number of the file's config
  double error =
      0;  // largest |ours - file's| / largest |file's|; infinite when they cannot be compared
  std::string note;  // why, when infinite
};

struct ParityReport {
  std::string file;
  std::string kind;      // "model angpt", "op rope", ...
  double tolerance = 0;  // the file's own
  int64_t num_read = 0;  // tensors that were inputs
  std::vector<ParityRow> rows;

  bool passed() const;
};

/// Throws UserError on a malformed file, an unknown model, or a config key that nothing reads.
ParityReport check_parity(const std::string& path);

/// One line a row, then the verdict.
std::string parity_text(const ParityReport& report);

/// Checks and prints every file. Returns an exit code of suite/base/errors.h: 0, 1 when a
/// comparison fails, 2 when a file is wrong in any way (the others are still checked). Throws
/// Interrupted between two files.
int run_parity(const std::vector<std::string>& files);

}  // namespace normbench
