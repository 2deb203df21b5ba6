# Which tests share the machine. ctest runs as many beside each other as there are processors, but these.
# Alone: tests that watch the time, or whose ranks fill all processors and give each other up after a while.
# The fast cases of comm, parallel and bench are not among them: they wait for events, with bounds that hold
# on a machine many times as busy.
set(alone "^(comm|parallel)/slow$|^comm_mpi_|^(comm|demo|documents|dt-allreduce-bench|dt-train|jobs|slurm)/")
# Of those beside others all the same: one process, or a few of which nothing is asked in time.
set(beside "^dt-train/(bad_input|conversations|device|device_checkpoints|documents|dry_run|environment|evaluate|full_disk|lost_data|mixtures|moved|\
not_finite|old_driver|open_run_folders|option_uses|path_bytes|resharded|resume_damaged|staged_by_others|tokenizer|trains|trains_on_device)$")
get_property(names DIRECTORY PROPERTY TESTS)
foreach(name ${names})
  if(name MATCHES "${alone}" AND NOT name MATCHES "${beside}")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  # Started first, since they take longest.
  if(name MATCHES "^(kernels|comm|parallel|bench)$")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  # Threads that wait leave their processors to the test beside theirs.
  if(name MATCHES "^[a-z]+(/slow)?$")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT OMP_WAIT_POLICY=passive)
  endif()
endforeach()
