#include "suite/app/worker_registry.h"

#include "models/model.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "suite/measure/measure.h"
#include "suite/train/device.h"
#include "suite/train/probes.h"

namespace normbench {

void write_registry(const std::string& file) {
  Json json = {{"schema", "normbench-registry-1"}, {"models", Json::object()},
               {"optimizers", Json::object()},     {"schedules", Json::object()},
               {"tasks", Json::object()},          {"probes", known_probes()},
               {"devices", built_devices()}};
  for (const auto& entry : model_registry())
    json["models"][entry.name] = {{"source", entry.paper},
                                  {"options", entry.default_options},
                                  {"added", entry.added_options},
                                  {"limits", entry.limits}};
  for (const auto& entry : optimizer_registry())
    json["optimizers"][entry.name] = {{"source", entry.paper},
                                      {"options", entry.default_options},
                                      {"added", entry.added_options},
                                      {"limits", entry.limits}};
  for (const auto& entry : schedule_registry())
    json["schedules"][entry.name] = {
        {"source", entry.source}, {"options", entry.default_options}, {"limits", entry.limits}};
  for (const auto& entry : measure_registry())
    json["tasks"][entry.name] = {{"source", entry.what},
                                 {"options", entry.default_options},
                                 {"canary_options", entry.canary_options},
                                 {"limits", entry.limits}};
  write_json(file, json);
}

}  // namespace normbench
