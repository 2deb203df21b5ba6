#include "kernels/cuda/table.hpp"

#include "kernels/cuda/kernels.hpp"

namespace dt::kernels::cuda {

const GpuKernels table{embedding,
                       embedding_backward,
                       cross_entropy,
                       cross_entropy_gradient,
                       cross_entropy_part,
                       cross_entropy_of_parts,
                       cross_entropy_gradient_of_parts,
                       add,
                       add_bias_residual,
                       accumulate,
                       convert,
                       convert_columns,
                       sum_squares_by_block,
                       adamw};

}  // namespace dt::kernels::cuda
