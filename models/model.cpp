#include "models/model.h"

namespace normbench {

void ModelSize::check() {
  const auto positive = [](const char* name, int64_t value) {
    if (value > 0) return;
    throw UserError({.what = "a size of the model is not positive",
                     .where = name,
                     .found = std::to_string(value),
                     .expected = "1 or more",
                     .todo = "set it in suite/tables/sizes.json"});
  };
  positive("num_layers", num_layers);
  positive("width", width);
  positive("num_heads", num_heads);
  positive("mlp_width", mlp_width);
  positive("vocabulary", vocabulary);
  positive("context", context);
  if (head_width == 0) {
    if (width % num_heads != 0)
      throw UserError({.what = "the width is not divisible by the number of heads",
                       .where = "num_heads",
                       .found = std::to_string(width) + " / " + std::to_string(num_heads),
                       .expected = "a divisor of the width",
                       .todo = "change num_heads, or give head_width"});
    head_width = width / num_heads;
  }
  positive("head_width", head_width);
}

}  // namespace normbench
