#include "suite/base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace normbench {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto sink = spdlog::stderr_color_st("normbench");
    sink->set_pattern("%^%v%$");
    return sink;
  }();
  return *instance;
}

std::string count_text(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.0f} k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

}  // namespace

void log_info(const std::string& text) { logger().info(text); }
void log_warning(const std::string& text) { logger().warn("warning: " + text); }

std::string duration_text(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

Progress::Progress(std::string what, double total, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (terminal_ && printed_) fmt::print(stderr, "\n");
}

void Progress::update(double done, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  if (first_ < 0)
    first_ = done;  // a resumed run starts above zero: its rate counts only what was done here
  done_ = done;
  const bool finished = done >= total_;
  if (!finished &&
      now - last_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000)))
    return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = seconds > 0 ? (done - first_) / seconds : 0;
  const double left = rate > 0 ? (total_ - done) / rate : 0;
  std::string line = fmt::format(
      "{}: {} of {} {} ({:.0f} %), {} {}/s, {} left", what_, count_text(done), count_text(total_),
      unit_, total_ > 0 ? 100 * done / total_ : 100, count_text(rate), unit_, duration_text(left));
  if (!note.empty()) line += ", " + note;
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
  } else {
    log_info(line);
  }
  printed_ = true;
}

}  // namespace normbench
