#pragma once

namespace normbench {

/// Sets, in this process and those that it starts, what glibc and LibTorch's libraries read when
/// they are loaded; a variable that is set already is left. True when one was missing.
/// ATEN_CPU_CAPABILITY, MKL_ENABLE_INSTRUCTIONS and ONEDNN_MAX_CPU_ISA: one instruction set, so
/// that machines agree. CUBLAS_WORKSPACE_CONFIG: deterministic cuBLAS. OMP_NUM_THREADS: one thread,
/// unless the configuration says otherwise. GLIBC_TUNABLES: memory in huge pages where the kernel
/// gives them on request, 1.09 times the tokens per second there (2 to 17 % in 18 interleaved pairs
/// of GPT+ at width 64), the same bits.
bool complete_environment();

}  // namespace normbench
