// The plots of the page, drawn by gnuplot as SVG that takes its ink from the page (light or dark).
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

struct Plot {
  std::string caption;
  std::string svg;
};

/// Ladder, training curves and sweeps of one ledger. Empty when gnuplot cannot be run or fails.
/// `first_id` keeps the ids inside the SVGs of one page apart.
std::vector<Plot> draw_plots(const Json& ledger, const std::string& gnuplot, int first_id);

/// A bar that needs no gnuplot: the interval of one verdict, the paper's value, and "no effect".
std::string forest_svg(const Json& verdict);

}  // namespace normbench
