# Finds MLIR 22 and sets the flags of everything that links it. The package's
# version file accepts only the exact patch level, so the major one is checked
# by hand.
if(NOT MLIR_DIR)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "MLIR ${LLVM_PACKAGE_VERSION} found in ${MLIR_DIR}, but 22 is needed; "
    "run tools/setup, or set MLIR_DIR to the lib/cmake/mlir of an LLVM 22")
endif()
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_LINK_LLVM_DYLIB ON)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(PIPEMESH_BUILD_TYPE_FLAGS ${CMAKE_BUILD_TYPE})
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(LLVM_ENABLE_ASSERTIONS ON)
endif()
include(HandleLLVMOptions)
set(CMAKE_CXX_STANDARD 17)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
# One string with spaces in the package: a list of definitions is meant.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  separate_arguments(LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
endif()
add_definitions(${LLVM_DEFINITIONS})

# pipemesh_library(NAME SOURCES... [DEPENDS targets...] [LINK libraries...]):
# a static library of ours over the one shared MLIR. Naming MLIR's component
# libraries would pull a second copy of it from the static archives.
function(pipemesh_library NAME)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${NAME} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(ARG_DEPENDS)
    add_dependencies(${NAME} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${NAME} PUBLIC ${ARG_LINK} MLIR LLVM)
  # A project that uses an installed Pipemesh gets MLIR's headers along.
  target_include_directories(${NAME} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(${NAME} SYSTEM INTERFACE
    $<INSTALL_INTERFACE:${MLIR_INCLUDE_DIRS}> $<INSTALL_INTERFACE:${LLVM_INCLUDE_DIRS}>)
  target_compile_features(${NAME} INTERFACE cxx_std_17)
  set_property(GLOBAL APPEND PROPERTY PIPEMESH_LIBRARIES ${NAME})
endfunction()

# pipemesh_tool(NAME SOURCES... [LINK libraries...]): a command in build/bin.
function(pipemesh_tool NAME)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${NAME} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} MLIR LLVM)
  install(TARGETS ${NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
