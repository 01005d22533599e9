// The ledger as one HTML page: no external resource, plots as inline SVG drawn by gnuplot (a child
// process). Without gnuplot the page has its tables and says what is missing.
#pragma once

#include <string>
#include <vector>

#include "suite/base/json.h"

namespace normbench {

/// Renders ledgers (ledger.h), several tables or tiers, into `path`, atomically.
void write_report(const std::vector<Json>& ledgers, const std::string& path);

/// The page itself; `gnuplot` is the program to call ("" = none).
std::string report_page(const std::vector<Json>& ledgers, const std::string& gnuplot = "gnuplot");

}  // namespace normbench
