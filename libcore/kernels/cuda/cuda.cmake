# What runs on GPUs, wherever there is a compiler for them: CUDA=auto|on|off. Defines dt_kernels_cuda, DT_CUDNN, and dt_gpus: what tools
# that compute on GPUs are linked to. nvcc is called as it is, since Debian 12's CMake does not know
# the newest; nor does fmt 9, which takes it for a compiler without constexpr.
set(CUDA auto CACHE STRING "Kernels for GPUs: auto, where all that they take is found, on or off")
find_program(NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(no_cuda "")
if(NOT NVCC)
  set(no_cuda "nvcc is neither on PATH nor in /usr/local/cuda/bin")
else()
  file(REAL_PATH ${NVCC} nvcc_path)
  cmake_path(GET nvcc_path PARENT_PATH nvcc_folder)
  set(cuda_places lib64 lib lib/${CMAKE_LIBRARY_ARCHITECTURE} targets/x86_64-linux/lib targets/sbsa-linux/lib
    include targets/x86_64-linux/include targets/sbsa-linux/include)
  foreach(file libcudart_static.a cublasLt.h)  # of this nvcc: another one's would not fit
    unset(cuda_file)
    find_file(cuda_file ${file} PATHS ${nvcc_folder}/.. PATH_SUFFIXES ${cuda_places} NO_CACHE NO_DEFAULT_PATH)
    if(NOT cuda_file)
      list(APPEND no_cuda ${file})
    elseif(file STREQUAL libcudart_static.a)
      set(cudart ${cuda_file})
    endif()
  endforeach()
  if(no_cuda)
    list(JOIN no_cuda " and no " no_cuda)
    set(no_cuda "beside ${nvcc_path} there is no ${no_cuda}")
  endif()
endif()
if(no_cuda AND CUDA STREQUAL "on")
  message(FATAL_ERROR "CUDA=on: ${no_cuda}")
elseif(no_cuda AND NVCC AND CUDA STREQUAL "auto")
  message(STATUS "CUDA=auto: nothing for GPUs is built: ${no_cuda}")
endif()
if(NOT no_cuda AND NOT CUDA STREQUAL "off")
  set(nvcc_flags -std=c++20 -O3 --expt-relaxed-constexpr -Werror=all-warnings -Xcompiler=-Wall,-Wextra -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1
    -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90] -I${PROJECT_SOURCE_DIR}/libcore)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/libcore/kernels/cuda/*.cu ${PROJECT_SOURCE_DIR}/libcore/kernels/cuda/cublas_lt/*.cu
    ${PROJECT_SOURCE_DIR}/libcore/tensor/cuda/*.cu)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object} COMMAND ${NVCC} ${nvcc_flags} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${name}" VERBATIM)
    list(APPEND cuda_objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
  add_library(dt_kernels_cuda STATIC ${cuda_objects} libcore/kernels/cuda/table.cpp libcore/kernels/cuda/use.cpp)
  target_compile_definitions(dt_kernels_cuda INTERFACE DT_CUDA)
  # CUDA's runtime comes along and looks for a driver when it is first used; its libraries are loaded when they are needed: programs
  # start where there is nothing of CUDA.
  target_link_libraries(dt_kernels_cuda PUBLIC dt_kernels PRIVATE ${cudart} Threads::Threads ${CMAKE_DL_LIBS} rt)
  # Attention by cuDNN, where its headers are and those of its C++ front end, which are no package of Debian's: make fetches them.
  find_path(CUDNN_INCLUDE cudnn_graph.h HINTS ${nvcc_folder}/../include)
  find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${CMAKE_BINARY_DIR}/cudnn-frontend/include)
  if(CUDNN_INCLUDE AND CUDNN_FRONTEND_INCLUDE)
    set(sources libcore/kernels/cuda/cudnn/attention.cpp libcore/kernels/cuda/cudnn/graphs.cpp)
    target_include_directories(dt_kernels_cuda SYSTEM PRIVATE ${CUDNN_FRONTEND_INCLUDE} ${CUDNN_INCLUDE})
    set(DT_CUDNN ON)
  else()
    set(sources libcore/kernels/cuda/cudnn/absent.cpp)
    message(STATUS "CUDA=${CUDA}: without cuDNN, of which cudnn_graph.h or cudnn_frontend.h was not found: attention on GPUs is slower")
  endif()
  target_sources(dt_kernels_cuda PRIVATE ${sources})
  set(dt_gpus kernels_cuda)  # for tools that compute on them
endif()
