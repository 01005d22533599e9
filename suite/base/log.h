// Messages and progress on standard error. Strings only: no fmt type stands in an interface
// (LibTorch's include folder holds another fmt).
#pragma once

#include <chrono>
#include <string>

namespace normbench {

void log_info(const std::string& text);
void log_warning(const std::string& text);

/// Progress of one long piece of work: a line that rewrites itself on a terminal, else one line
/// every ten seconds.
class Progress {
 public:
  /// `total` in `unit`; `what` names the work ("encode gcide_1k").
  Progress(std::string what, double total, std::string unit);
  ~Progress();
  /// `note` is appended ("loss 3.21").
  void update(double done, const std::string& note = "");

 private:
  std::string what_, unit_;
  double total_, done_ = 0, first_ = -1;
  bool terminal_, printed_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

/// "1 h 02 min", "3 min 20 s", "4.1 s".
std::string duration_text(double seconds);

}  // namespace normbench
