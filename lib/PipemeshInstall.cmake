# `cmake --install build`: the tools (each installs itself), the libraries of
# lib/, the headers with the generated ones, the .td files, the runtime's header,
# and a package that `find_package(Pipemesh)` finds.
include(CMakePackageConfigHelpers)
set(PIPEMESH_CMAKE_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Pipemesh)

get_property(PIPEMESH_LIBRARIES GLOBAL PROPERTY PIPEMESH_LIBRARIES)
if(PIPEMESH_LIBRARIES)
  install(TARGETS ${PIPEMESH_LIBRARIES} EXPORT PipemeshTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT PipemeshTargets NAMESPACE Pipemesh::
    DESTINATION ${PIPEMESH_CMAKE_INSTALL_DIR})
endif()

install(DIRECTORY include/pipemesh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${CMAKE_BINARY_DIR}/include/pipemesh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN "*.h")
install(DIRECTORY runtime/include/pmrt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")

configure_package_config_file(lib/PipemeshConfig.cmake.in
  ${CMAKE_BINARY_DIR}/PipemeshConfig.cmake
  INSTALL_DESTINATION ${PIPEMESH_CMAKE_INSTALL_DIR}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/PipemeshConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/PipemeshConfig.cmake
  ${CMAKE_BINARY_DIR}/PipemeshConfigVersion.cmake
  DESTINATION ${PIPEMESH_CMAKE_INSTALL_DIR})
