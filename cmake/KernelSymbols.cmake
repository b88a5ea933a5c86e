# A test, run as a script: cmake -DNM=... -DOBJECTS=... -P KernelSymbols.cmake
#
# The linker merges an inline function or template emitted by a kernel's object file with the copies
# in other files. If the copy compiled for AVX-512 won, every caller would run it on every machine.
# The kernels of the higher instruction sets may therefore export only names of their own.

foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" -C "${object}" OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
  if(shared)
    list(JOIN shared "\n  " shared)
    message(SEND_ERROR "${object} emits what other files may come to share:\n  ${shared}")
  endif()
endforeach()
