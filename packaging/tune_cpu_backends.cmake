# Tunes each CPU backend for the processors it is for. ggml only tells the compiler which instructions they have;
# a build with -march=native is tuned as well. x64, sse42 and haswell stay untuned: processors of two vendors use them.
include(CheckCCompilerFlag)

function(tune_cpu_backends)
    # BACKEND=the compiler's name, then names for compilers that do not know it yet.
    foreach (entry
            "sandybridge=sandybridge" "ivybridge=ivybridge" "piledriver=bdver2" "skylakex=skylake-avx512"
            "cannonlake=cannonlake" "cascadelake=cascadelake" "icelake=icelake-server" "cooperlake=cooperlake"
            "zen4=znver4 znver3" "alderlake=alderlake" "sapphirerapids=sapphirerapids")
        string(REGEX MATCH "^([^=]+)=(.+)$" _ "${entry}")
        set(backend "ggml-cpu-${CMAKE_MATCH_1}")
        separate_arguments(processors UNIX_COMMAND "${CMAKE_MATCH_2}")
        if (NOT TARGET ${backend})
            continue()
        endif()
        foreach (processor IN LISTS processors)
            string(MAKE_C_IDENTIFIER "TUNES_FOR_${processor}" known)
            check_c_compiler_flag("-mtune=${processor}" ${known})
            if (${known})
                target_compile_options(${backend} PRIVATE "-mtune=${processor}")
                break()
            endif()
        endforeach()
    endforeach()
endfunction()

# At the end of ggml's own CMakeLists.txt, when the backends are there.
cmake_language(DEFER CALL tune_cpu_backends)
