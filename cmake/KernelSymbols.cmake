# A test, run as a script: cmake -DNM=... -DOBJECTS=... -P KernelSymbols.cmake
#
# An inline function or template that a kernel's object file emits is merged by the linker with
# the copies of other files; should the copy compiled for AVX-512 win, every caller would run it on
# every machine. So the kernels of the better instruction sets may export only names of their own.

foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND "${NM}" -C "${object}" OUTPUT_VARIABLE symbols
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]* [WVu] [^\n]*" shared "${symbols}")
  if(shared)
    list(JOIN shared "\n  " shared)
    message(SEND_ERROR "${object} emits what other files may come to share:\n  ${shared}")
  endif()
endforeach()
