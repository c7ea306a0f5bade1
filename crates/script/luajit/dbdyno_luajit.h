/* What we build LuaJIT with, read before each of its files (.cargo/config.toml).
 *
 * Its table of strings doubles when it is full and halves when a collection leaves three quarters
 * of it empty. A script that makes a text for each row does both in every collection, and each time
 * every string is moved: a fifth of what such a text costs. The table begins large instead, with
 * 128 KiB, and never gets smaller than that. */
#ifndef __ASSEMBLER__
#define luajit_c /* or luajit.c would find its part of luaconf.h read without it */
#include "lj_def.h"
#undef LJ_MIN_STRTAB
#define LJ_MIN_STRTAB 16384
#endif
