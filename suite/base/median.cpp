#include "suite/base/median.h"

#include <boost/math/statistics/univariate_statistics.hpp>

#include "suite/base/errors.h"

namespace normbench {

double median(std::vector<double> values) {
  NORMBENCH_CHECK(!values.empty(), "median of nothing");
  return boost::math::statistics::median(values);
}

}  // namespace normbench
