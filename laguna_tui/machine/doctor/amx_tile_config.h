// Included before every C++ source (-include). GCC before 12.3 declares that `_tile_loadconfig` reads 8 of the 64 bytes of
// a tile configuration, drops the stores into the others, and the kernels of ggml's AMX buffer type crash.
#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define _tile_loadconfig(config) __asm__ volatile("ldtilecfg %0" ::"m"(*(const char(*)[64])(config)))
#endif
