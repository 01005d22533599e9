#include "suite/ops/attention.h"

#include <ATen/ATen.h>

#include "suite/ops/fused.h"
#include "suite/ops/reference.h"

namespace normbench::ops {

torch::Tensor causal_attention(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, double scale) {
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && k.sizes() == v.sizes() && q.size(0) == k.size(0) &&
                  q.size(1) == k.size(1) && q.size(3) == k.size(3) && k.size(2) > 0 &&
                  q.size(2) % k.size(2) == 0,
              "causal_attention: q is ", q.sizes(), ", k is ", k.sizes(), ", v is ", v.sizes(),
              "; expected q [B, T, H, Dh] and k, v [B, T, K, Dh] with H a multiple of K");
  // In double the library's kernel gains nothing and cannot be differentiated twice.
  if (!fused() || q.scalar_type() == torch::kDouble || q.numel() == 0)
    return reference::causal_attention(q, k, v, scale);
  // The library's kernel reads strided heads and writes [B, T, H, Dh] itself: these transposes copy
  // nothing.
  return at::scaled_dot_product_attention(
             q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {}, /*dropout_p=*/0.0,
             /*is_causal=*/true, scale, /*enable_gqa=*/k.size(2) != q.size(2))
      .transpose(1, 2);
}

}  // namespace normbench::ops
