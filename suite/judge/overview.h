// What came out so far, over all published tables: one line a claim and text, for a reader who
// opens the folder.
#pragma once

#include <string>

namespace normbench {

/// Markdown from <published>/*/ledger.json, in the order of their names. A verdict that stands
/// alone, but not among the verdicts of its table (Holm), has a star.
std::string overview_page(const std::string& published);

}  // namespace normbench
