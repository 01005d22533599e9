#include "suite/judge/plots.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

#include "suite/base/text.h"
#include "suite/judge/ledger_words.h"

namespace normbench {
namespace {

// Okabe and Ito's palette: told apart by colour-blind readers, on light and dark ground.
constexpr std::array<const char*, 7> kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                "#E69F00", "#56B4E9", "#999999"};
constexpr std::array<int, 7> kPoints = {7, 5, 9, 11, 13, 6, 4};

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Empty when the program is not there or fails.
std::string run_gnuplot(const std::string& gnuplot, const std::string& script) {
  if (gnuplot.empty()) return "";
  // A file in memory, which the child inherits: both ends of a pipe could wait for each other.
  const int script_file = ::memfd_create("plot", 0);
  if (script_file < 0) return "";
  std::string svg;
  if (::write(script_file, script.data(), script.size()) == static_cast<ssize_t>(script.size())) {
    const std::string command =
        gnuplot + " /dev/fd/" + std::to_string(script_file) + " 2>/dev/null";
    ::lseek(script_file, 0, SEEK_SET);
    if (FILE* pipe = ::popen(command.c_str(), "r"); pipe != nullptr) {
      std::array<char, 65536> buffer;
      for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        svg.append(buffer.data(), n);
      if (::pclose(pipe) != 0) svg.clear();
    }
  }
  ::close(script_file);
  const size_t start = svg.find("<svg");
  return start == std::string::npos || svg.find("</svg>") == std::string::npos ? ""
                                                                               : svg.substr(start);
}

// Ink of the page, no ids shared between plots, no title that browsers show as a tooltip.
std::string for_page(std::string svg, int id) {
  const std::string prefix = "p" + std::to_string(id);
  for (const char* name :
       {"gpDot", "gpPt", "gnuplot_canvas", "gnuplot_plot_", "textbox", "greybox"})
    svg = replace_all(svg, name, prefix + name);
  svg = replace_all(svg, "'black'", "'currentColor'");
  svg = replace_all(svg, "fill=\"black\"", "fill=\"currentColor\"");
  svg = replace_all(svg, " color=\"black\"", "");
  svg = replace_all(svg, "color=\"white\"", "");
  for (const auto& [open, close] :
       {std::pair<std::string, std::string>{"<title>Gnuplot</title>", ""}, {"<desc>", "</desc>"}}) {
    const size_t start = svg.find(open);
    if (start == std::string::npos) continue;
    svg.erase(start, close.empty() ? open.size() : svg.find(close, start) + close.size() - start);
  }
  return svg;
}

std::string quoted(const std::string& text) { return "'" + replace_all(text, "'", "''") + "'"; }

std::string style_of(const Json& ledger, const std::string& arm) {
  size_t i = 0;
  for (const auto& entry : ledger.at("arms")) {
    if (entry.at("name") == arm) break;
    ++i;
  }
  const bool warns = !arm_of(ledger, arm).at("warning").get<std::string>().empty();
  return std::string(" lc rgb '") + kColors[i % kColors.size()] + "' pt " +
         std::to_string(kPoints[i % kPoints.size()]) + " ps 0.6 lw 1.6" + (warns ? " dt 2" : "");
}

std::string label_of(const Json& ledger, const std::string& arm) {
  return arm_of(ledger, arm).at("label");
}

std::string preamble(const std::string& x, const std::string& y) {
  return "set terminal svg size 640,420 dynamic noenhanced font 'sans-serif,14'\nset border 3\nset "
         "tics nomirror out\n"
         "set grid lc rgb '#888888' lw 0.3 dt 3\nset key outside top center horizontal samplen "
         "2\nset xlabel " +
         quoted(x) + "\nset ylabel " + quoted(y) + "\n";
}

std::string number(double value) { return Json(value).dump(); }

// Tokens on a log axis with ticks at the given places, which span it.
std::string token_axis(const std::set<double>& ticks) {
  std::vector<std::string> marks;
  for (const double tick : ticks) marks.push_back(quoted(tokens_text(tick)) + " " + fixed(tick, 0));
  const double room = std::pow(*ticks.rbegin() / *ticks.begin(), .04) + .02;
  return "set logscale x\nset xrange [" + number(*ticks.begin() / room) + ":" +
         number(*ticks.rbegin() * room) + "]\nset xtics (" + join(marks, ", ") + ")\n";
}

std::string ladder_script(const Json& ledger, const std::string& dataset) {
  std::set<double> budgets;
  std::string data, plots;
  for (const auto& arm : ledger.at("arms")) {
    std::string rows;
    for (const auto& row : ledger.at("losses")) {
      if (row.at("dataset") != dataset || row.at("arm") != arm.at("name") ||
          !row.at("mean").is_number())
        continue;
      budgets.insert(row.at("budget").get<double>());
      rows += number(row.at("budget").get<double>()) + " " + number(row.at("mean").get<double>()) +
              " " + number(row.at("s").is_number() ? row.at("s").get<double>() : 0) + "\n";
    }
    if (rows.empty()) continue;
    const std::string name = "$d" + std::to_string(std::count(data.begin(), data.end(), '$'));
    data += name + " << EOD\n" + rows + "EOD\n";
    plots += (plots.empty() ? "plot " : ", ") + name + " using 1:2:3 with yerrorlines" +
             style_of(ledger, arm.at("name")) + " title " + quoted(arm.at("label"));
  }
  if (plots.empty()) return "";
  return preamble("token budget (log)", "validation loss, nats per token") + token_axis(budgets) +
         data + plots + "\n";
}

std::string curves_script(const Json& ledger, const std::string& dataset) {
  std::string data, plots;
  double longest = 0;
  for (const auto& curve : ledger.at("curves")) {
    if (curve.at("dataset") != dataset) continue;
    longest = std::max(longest, curve.at("budget").get<double>());
    std::string rows;
    for (const auto& point : curve.at("points"))
      rows += number(point[0].get<double>()) + " " + number(point[1].get<double>()) + "\n";
    const std::string name = "$d" + std::to_string(std::count(data.begin(), data.end(), '$'));
    data += name + " << EOD\n" + rows + "EOD\n";
    plots += (plots.empty() ? "plot " : ", ") + name + " using 1:2 with lines" +
             style_of(ledger, curve.at("arm")) + " title " +
             quoted(label_of(ledger, curve.at("arm")));
  }
  if (plots.empty()) return "";
  std::set<double> ticks;
  for (double tick = longest; tick > longest / 100; tick /= 4)
    ticks.insert(std::round(tick));  // the curves begin at 1/128
  return preamble("tokens (log)", "training loss, nats per token") + token_axis(ticks) + data +
         plots + "\n";
}

std::string sweep_script(const Json& ledger, const std::string& dataset, int64_t budget) {
  std::string data, plots;
  std::set<double> rates;
  for (const auto& point : ledger.at("tuning")) {
    if (point.at("dataset") != dataset || point.at("budget") != budget) continue;
    std::string rows, fit;
    for (const auto& trial : point.at("trials")) {
      rates.insert(trial.at("peak_lr").get<double>());
      if (!trial.at("loss").is_number()) continue;
      rows += number(trial.at("peak_lr").get<double>()) + " " +
              number(trial.at("loss").get<double>()) + "\n";
    }
    if (rows.empty()) continue;
    if (point.at("parabola").is_array()) {
      const double a = point["parabola"][0], b = point["parabola"][1], c = point["parabola"][2];
      const double center = std::log2(point.at("best_lr").get<double>());
      for (int i = -20; i <= 20; ++i) {
        const double x = center + i / 20.0 * .75;  // a step and a half of sqrt(2)
        fit += number(std::exp2(x)) + " " + number(a + b * x + c * x * x) + "\n";
      }
    }
    const std::string name = "$d" + std::to_string(std::count(data.begin(), data.end(), '$'));
    data += name + " << EOD\n" + rows + "EOD\n";
    plots += (plots.empty() ? "plot " : ", ") + name + " using 1:2 with points" +
             style_of(ledger, point.at("arm")) + " title " +
             quoted(label_of(ledger, point.at("arm")));
    if (!fit.empty()) {
      const std::string fit_name = "$d" + std::to_string(std::count(data.begin(), data.end(), '$'));
      data += fit_name + " << EOD\n" + fit + "EOD\n";
      plots += ", " + fit_name + " using 1:2 with lines" + style_of(ledger, point.at("arm")) +
               " notitle";
    }
  }
  if (plots.empty()) return "";
  std::vector<std::string> marks;
  for (const double rate : rates) marks.push_back(quoted(number(rate)) + " " + number(rate));
  return preamble("peak learning rate (log)", "validation loss, nats per token") +
         "set logscale x\nset xtics rotate by -40 (" + join(marks, ", ") + ")\n" + "set xrange [" +
         number(*rates.begin() / 1.15) + ":" + number(*rates.rbegin() * 1.15) + "]\n" + data +
         plots + "\n";
}

}  // namespace

std::vector<Plot> draw_plots(const Json& ledger, const std::string& gnuplot, int first_id) {
  std::vector<Plot> plots;
  const auto add = [&](const std::string& script, const std::string& caption) {
    if (script.empty()) return;
    const std::string svg = run_gnuplot(gnuplot, script);
    if (!svg.empty())
      plots.push_back({caption, for_page(svg, first_id + static_cast<int>(plots.size()))});
  };
  for (const auto& entry : ledger.at("datasets")) {
    const std::string dataset = entry;
    add(ladder_script(ledger, dataset), dataset +
                                            ": the ladder. Each point is the mean of separate runs "
                                            "that end there; bars are one sd.");
    add(curves_script(ledger, dataset),
        dataset +
            ": training loss of the longest budget, mean over seeds. It decides nothing: rankings "
            "turn during the decay.");
    std::set<int64_t> budgets;
    for (const auto& point : ledger.at("tuning"))
      if (point.at("dataset") == dataset) budgets.insert(point.at("budget").get<int64_t>());
    for (const int64_t budget : budgets)
      add(sweep_script(ledger, dataset, budget),
          dataset + ": learning-rate sweep at " + tokens_text(static_cast<double>(budget)) +
              " tokens, with the parabola through the best trial and its neighbours.");
  }
  return plots;
}

std::string forest_svg(const Json& verdict) {
  const Json& here = verdict.at("here");
  if (here.at("unit") == "tokens") return "";  // a place on the ladder, not an effect beside none
  const bool ratio = here.at("unit") == "x";
  const auto place = [&](double value) { return ratio ? std::log(value) : value; };
  std::vector<double> all = {0.0};  // no effect: ln 1, or 0
  std::optional<double> paper, estimate, low, high;
  const auto take = [&](std::optional<double>& to, const Json& value) {
    if (!value.is_number() || (ratio && value.get<double>() <= 0)) return;
    to = place(value.get<double>());
    all.push_back(*to);
  };
  if (verdict.at("rule") == "non_inferiority")
    take(paper, verdict.at("detail").at("margin"));
  else if (verdict.at("paper").contains("value"))
    take(paper, verdict.at("paper").at("value"));
  take(estimate, here.at("estimate"));
  take(low, here.at("low"));
  take(high, here.at("high"));
  if (!estimate) return "";
  double from = *std::min_element(all.begin(), all.end()),
         to = *std::max_element(all.begin(), all.end());
  const double margin = std::max(1e-6, .12 * (to - from));
  from -= margin, to += margin;
  const auto x = [&](double value) { return fixed(200 * (value - from) / (to - from), 1); };
  std::string svg =
      "<svg class=\"forest\" viewBox=\"0 0 200 34\" role=\"img\" aria-label=\"interval, paper and "
      "no effect on one axis\">";
  svg += "<line x1=\"" + x(0) + "\" x2=\"" + x(0) +
         "\" y1=\"2\" y2=\"32\" stroke=\"currentColor\" stroke-dasharray=\"2 2\" opacity=\".6\"/>";
  if (low || high) {
    svg += "<line x1=\"" + (low ? x(*low) : std::string("3")) + "\" x2=\"" +
           (high ? x(*high) : std::string("197")) +
           "\" y1=\"17\" y2=\"17\" stroke=\"currentColor\" stroke-width=\"2\"/>";
    if (!low)
      svg +=
          "<path d=\"M8 12 L2 17 L8 22\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"2\"/>";
    if (!high)
      svg +=
          "<path d=\"M192 12 L198 17 L192 22\" fill=\"none\" stroke=\"currentColor\" "
          "stroke-width=\"2\"/>";
  }
  svg += "<circle cx=\"" + x(*estimate) + "\" cy=\"17\" r=\"4.5\" fill=\"currentColor\"/>";
  if (paper)
    svg += "<path transform=\"translate(" + x(*paper) +
           " 17)\" d=\"M0 -7 L6 0 L0 7 L-6 0 Z\" fill=\"none\" stroke=\"var(--accent)\" "
           "stroke-width=\"2\"/>";
  return svg + "</svg>";
}

}  // namespace normbench
