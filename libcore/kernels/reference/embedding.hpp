#pragma once
// kernels/embedding.hpp as plain loops. Sums are in double.

#include "kernels/embedding.hpp"

namespace dt::kernels::reference {

template <class T>
void embedding(const Context&, const Tensor& ids_R, const Tensor& table_VC, bool add, const Tensor& y_RC,
               DimShard shard);
template <class T>
void embedding_backward(const Context&, const Tensor& ids_R, const Tensor& dy_RC, const Tensor& dtable_VC,
                        DimShard shard);

}  // namespace dt::kernels::reference
