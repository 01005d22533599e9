#include "suite/train/run_config.h"

#include "suite/base/names.h"
#include "suite/train/probes.h"

namespace normbench {

RunConfig read_run_config(const Json& json, const std::string& file) {
  const JsonObject o(json, file);
  RunConfig c;
  c.model = o.required<std::string>("model");
  c.model_options = o.required<Json>("model_options");
  c.size = read_options<ModelSize>(o.object("size"));
  c.size.check();
  c.optimizer = o.required<std::string>("optimizer");
  c.optimizer_options = o.required<Json>("optimizer_options");
  c.schedule = o.required<std::string>("schedule");
  c.schedule_options = o.required<Json>("schedule_options");
  c.peak_lr = o.required<double>("peak_lr");
  c.clip_norm = o.required<double>("clip_norm");
  c.token_budget = o.required<int64_t>("token_budget");
  c.batch_sequences = o.required<int64_t>("batch_sequences");
  c.micro_batch_sequences = o.required<int64_t>("micro_batch_sequences");
  c.dataset = o.required<std::string>("dataset");
  c.train_digest = o.required<std::string>("train_digest");
  c.validation_digest = o.required<std::string>("validation_digest");
  c.validation_tokens = o.required<int64_t>("validation_tokens");
  const JsonObject divergence = o.object("divergence");
  c.loss_above = divergence.required<double>("loss_above");
  divergence.finish();
  c.precision = o.required<std::string>("precision");
  c.device = o.required<std::string>("device");
  c.threads = o.required<int64_t>("threads");
  c.seed = o.required<int64_t>("seed");
  c.probes = o.optional<std::vector<std::string>>("probes", {});
  o.finish();

  if (c.peak_lr <= 0) o.fail("peak_lr", "a learning rate must be positive", Json(c.peak_lr).dump());
  if (c.clip_norm <= 0)
    o.fail("clip_norm", "a clipping norm must be positive", Json(c.clip_norm).dump());
  if (c.batch_sequences <= 0 || c.micro_batch_sequences <= 0 ||
      c.batch_sequences % c.micro_batch_sequences != 0)
    o.fail("micro_batch_sequences", "a batch is not a whole number of micro-batches",
           std::to_string(c.batch_sequences) + " and " + std::to_string(c.micro_batch_sequences));
  if (c.token_budget <= 0 || c.token_budget % c.tokens_per_step() != 0)
    o.fail("token_budget", "a token budget is not divisible by the tokens of a step",
           std::to_string(c.token_budget), "a multiple of " + std::to_string(c.tokens_per_step()));
  if (c.validation_tokens <= 0 || c.validation_tokens % c.size.context != 0)
    o.fail("validation_tokens", "not a multiple of the context",
           std::to_string(c.validation_tokens));
  if (c.precision != "fp32" && c.precision != "bf16-mixed")
    o.fail("precision", "unknown precision", "\"" + c.precision + "\"", "fp32 or bf16-mixed");
  if (c.device != "cpu" && c.device != "cuda")
    o.fail("device", "unknown device", "\"" + c.device + "\"", "cpu or cuda");
  for (const auto& name : c.probes)
    require_known(o, "probes", "unknown probe", name, known_probes());
  if (c.threads < 1) o.fail("threads", "at least one thread is needed", std::to_string(c.threads));
  return c;
}

}  // namespace normbench
