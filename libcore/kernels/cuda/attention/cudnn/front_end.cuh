#pragma once
// cuDNN's C++ front end. It is headers alone, which find the library's functions in what
// cudnn_dlhandle names.

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>
