# `normbench parity`: the comparison with golden files, a library of the worker and of its own test.
normbench_library(parity TORCH
  SOURCES parity.cpp parity_case.cpp parity_decoder_config.cpp parity_hessian.cpp parity_hybrid.cpp parity_hybrid_config.cpp parity_hybrid_op.cpp parity_model.cpp parity_model_config.cpp
    parity_op.cpp parity_optim.cpp
    parity_schedule.cpp
  DEPS normbench::measure normbench::models normbench::optim normbench::ops normbench::base)

normbench_tests(parity SOURCES parity_meaning_test.cpp parity_refusal_test.cpp parity_test.cpp TORCH)
