#include "suite/app/worker_arms.h"

#include <algorithm>
#include <memory>

#include "models/layers.h"
#include "models/model.h"
#include "optim/optimizer.h"
#include "suite/app/exit_codes.h"
#include "suite/base/files.h"
#include "suite/base/json.h"

namespace normbench {
namespace {

std::shared_ptr<Model> built(const Json& config) {
  auto size = read_options<ModelSize>(JsonObject(config, "configuration").object("size"));
  size.vocabulary = std::max<int64_t>(size.vocabulary, 1);  // 0 while the data is not there
  size.check();
  return find_model(config.at("model").get<std::string>())
      .make(size, JsonObject(config.at("model_options"), "configuration", "/model_options"));
}

void build_arm(const Json& config, const Json& canary) {
  {
    const ShapesOnly no_memory;
    built(config);
  }
  const auto model = built(canary);
  find_optimizer(canary.at("optimizer").get<std::string>())
      .make(model->parameter_groups(),
            JsonObject(canary.at("optimizer_options"), "configuration", "/optimizer_options"));
}

}  // namespace

int worker_arms(const std::string& file) {
  for (const auto& arm : read_json(file)) {
    try {
      build_arm(arm.at("config"), arm.at("canary"));
    } catch (const UserError& e) {  // of a model or an optimiser, which know no arm
      throw UserError({.what = arm.at("arm").get<std::string>() + " cannot be built: " + e.what()});
    }
  }
  return kExitOk;
}

}  // namespace normbench
