#pragma once

#include <vector>

namespace normbench {

/// The value in the middle of at least one; of an even number the mean of the two in the middle.
double median(std::vector<double> values);

}  // namespace normbench
