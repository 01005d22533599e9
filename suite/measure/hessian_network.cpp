// The activation Hessian of whole networks while their weights grow: pre-norm, pre-norm with
// full-width QK-norm, SimpleGPT (arXiv 2602.01212). H is that of the mean cross-entropy of one
// sequence with respect to the residual stream entering a block, all T * D numbers jointly (tokens
// couple through attention). The matrices of all blocks, or only those of queries and keys, are
// multiplied by c, and that stream is recomputed at each c. Block 0 and later ones answer
// differently: what enters block 0 is the embedding, which no c changes, so that pre-norm's H grows
// with the weights; what enters block 1 grows itself with c, and H with respect to it falls.
#include <torch/torch.h>

#include "suite/measure/draws.h"
#include "suite/measure/hessian.h"
#include "suite/measure/hessian_tasks.h"
#include "suite/measure/network.h"
#include "suite/measure/series.h"
#include "suite/measure/spectrum.h"

namespace normbench {

namespace {

struct HessianNetworkOptions {
  NetworkOptions network = {};
  std::vector<std::string> models = {"prenorm", "prenorm_qknorm", "simplegpt"};
  // c. 3: a product with a power of two is exact and shows no rounding.
  std::vector<double> scales_all = {0.25, 0.5, 1, 2, 3, 4, 8};  // of every matrix of the blocks
  std::vector<double> scales_qk = {1, 2, 3, 4, 8};              // of queries and keys only
  std::vector<int64_t> blocks = {0, 1};                         // whose input is x, counted from 0
  double tolerance = 1e-8;                                      // of Lanczos (spectrum.h)
  int64_t max_steps = 80;                                       // of Lanczos

  template <class Visitor>
  void fields(Visitor& v) {
    network.fields(v);
    v.words("models", models, {"prenorm", "prenorm_qknorm", "simplegpt"});
    v.numbers("scales_all", scales_all, above(0));
    v.numbers("scales_qk", scales_qk, above(0));
    v.numbers("blocks", blocks, at_least(0));
    v.number("tolerance", tolerance, above(0));
    v.number("max_steps", max_steps, at_least(1));
  }
};

void check(const HessianNetworkOptions& options) {
  for (const auto block : options.blocks)
    if (block < 0 || block >= options.network.num_layers)
      throw UserError({.what = "the network has no such block",
                       .where = "blocks",
                       .found = std::to_string(block),
                       .expected = "0 to num_layers - 1"});
  require_two_different("scales_all", options.scales_all);
  require_two_different("scales_qk", options.scales_qk);
}

/// One series over c; leaves the weights as they were. Returns the largest relative residual.
double measure(const Network& network, const HessianNetworkOptions& options, const Json& labels,
               const torch::Tensor& start, Rows& rows) {
  auto& model = *network.model;
  const auto which = labels.at("scaled").get<std::string>();
  const auto block = labels.at("block").get<int64_t>();
  auto matrices = block_matrices(model, which);
  std::vector<torch::Tensor> stored;
  for (const auto& [name, w] : matrices) stored.push_back(w.clone());
  std::vector<double> norms;
  double worst_residual = 0;
  for (const double c : which == "all" ? options.scales_all : options.scales_qk) {
    for (size_t i = 0; i < stored.size(); ++i) matrices[i].second.copy_(c * stored[i]);
    const HessianProduct product(
        [&](const auto& h) { return model.loss_from(block, h, network.targets); },
        model.stream_into(block, network.tokens));
    const auto ends =
        lanczos(product, start, {.tolerance = options.tolerance, .max_steps = options.max_steps});
    norms.push_back(ends.norm());
    worst_residual = std::max(worst_residual, ends.residual() / ends.norm());
    Json row = labels;
    row["c"] = c;
    row["loss"] = product.value().item<double>();
    row["hessian_norm"] = ends.norm();
    row["smallest_eigenvalue"] = ends.smallest;
    row["largest_eigenvalue"] = ends.largest;
    row["residual"] = ends.residual();
    row["products"] = ends.steps;
    rows.add(row);
  }
  for (size_t i = 0; i < stored.size(); ++i) matrices[i].second.copy_(stored[i]);
  const auto name =
      labels.at("model").get<std::string>() + "_" + which + "_block_" + std::to_string(block);
  rows.value(name + "_change", relative_change(norms));
  rows.value(name + "_growth", norms.back() / norms.front());  // last c against the first
  return worst_residual;
}

void run(const HessianNetworkOptions& options, uint64_t seed, Rows& rows) {
  check(options);
  const auto start = unit_draw(options.network.num_tokens * options.network.width, seed, "start");
  double worst_residual = 0;
  for (const auto& kind : options.models) {
    const auto network = make_network(kind, options.network, seed);
    for (auto& weight : network.model->parameters()) weight.requires_grad_(false);
    for (const auto block : options.blocks)
      for (const std::string which : {"all", "qk"}) {
        const double residual = measure(
            network, options, {{"model", kind}, {"block", block}, {"scaled", which}}, start, rows);
        worst_residual = std::max(worst_residual, residual);
      }
  }
  rows.value("worst_relative_residual", worst_residual);
}

}  // namespace

MeasureEntry hessian_network() {
  return measure_entry<HessianNetworkOptions, run>(
      "hessian_network", "activation Hessian of three networks while their weights grow",
      {.network = {.num_layers = 2,
                   .width = 8,
                   .num_heads = 2,
                   .mlp_width = 12,
                   .vocabulary = 16,
                   .num_tokens = 4},
       .scales_all = {1, 3},
       .scales_qk = {1, 3},
       .blocks = {1},
       .max_steps = 8});
}

}  // namespace normbench
