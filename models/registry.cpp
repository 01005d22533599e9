// Every architecture, one line each, sorted by name.
#include <torch/torch.h>

#include "models/angpt.h"
#include "models/deepnorm.h"
#include "models/dyt.h"
#include "models/gpt_plus.h"
#include "models/hybrid_prenorm.h"
#include "models/llama_prenorm.h"
#include "models/lnscaling.h"
#include "models/mamba2_lm.h"
#include "models/model.h"
#include "models/nanogpt.h"
#include "models/ngpt.h"
#include "models/ngpt_hybrid.h"
#include "models/olmo2.h"
#include "models/postnorm.h"
#include "models/simplegpt.h"
#include "suite/base/find_entry.h"

namespace normbench {

namespace {

template <class Architecture, class Options>
ModelEntry entry(const std::string& name, const std::string& paper) {
  return {name,
          paper,
          options_json(Options{}),
          added_options<Options>(),
          option_limits<Options>(),
          [](const ModelSize& size, const JsonObject& options) -> std::shared_ptr<Model> {
            ModelSize checked = size;
            checked.check();
            return std::make_shared<Architecture>(checked, read_options<Options>(options));
          }};
}

}  // namespace

const std::vector<ModelEntry>& model_registry() {
  static const std::vector<ModelEntry> entries = {
      entry<Angpt, AngptOptions>("angpt", "arXiv 2505.22014 v2, Table 1"),
      entry<Deepnorm, DeepnormOptions>("deepnorm", "arXiv 2203.00555, Figure 2"),
      entry<Dyt, DytOptions>("dyt", "arXiv 2503.10622 (DyT), arXiv 2512.10938 (Derf)"),
      entry<GptPlus, GptPlusOptions>("gpt_plus", "arXiv 2505.22014 v2, Table 1"),
      entry<HybridPrenorm, HybridPrenormOptions>(
          "hybrid_prenorm", "arXiv 2512.20848 (Nemotron-3 Nano), the baseline of arXiv 2608.01284"),
      entry<LlamaPrenorm, LlamaPrenormOptions>(
          "llama_prenorm", "NVIDIA/ngpt ed19eb2, the baseline of arXiv 2410.01131"),
      entry<Lnscaling, LnscalingOptions>("lnscaling", "arXiv 2502.05795"),
      entry<Mamba2Lm, Mamba2LmOptions>("mamba2", "arXiv 2405.21060"),
      entry<Nanogpt, NanogptOptions>("nanogpt", "karpathy/nanoGPT 3adf61e (GPT-2)"),
      entry<Ngpt, NgptOptions>("ngpt", "arXiv 2410.01131 v2, sections 2.1-2.6"),
      entry<NgptHybrid, NgptHybridOptions>("ngpt_hybrid", "arXiv 2608.01284"),
      entry<Olmo2, Olmo2Options>("olmo2", "arXiv 2501.00656, section 2"),
      entry<Postnorm, PostnormOptions>("postnorm", "arXiv 1706.03762; arXiv 2502.05795"),
      entry<Simplegpt, SimplegptOptions>("simplegpt", "arXiv 2602.01212"),
  };
  return entries;
}

const ModelEntry& find_model(const std::string& name) {
  return find_entry(model_registry(), name, "model", "model");
}

}  // namespace normbench
