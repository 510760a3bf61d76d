/* SPDX-License-Identifier: Apache-2.0 */
/* A GSYM as text. */
#ifndef UX_GSYM_DUMP_H
#define UX_GSYM_DUMP_H

#include "gsym_encode.h"
#include "gsym_reader.h"

/*
 * Hands the content to `sink` as lines of text, in pieces of some 64 KiB, functions by address:
 *
 *   gsym 1, little-endian, 2-byte addresses from 0x400000, 2 functions, 2 files, build ID 1b70...
 *   function 0x401000-0x401007 f
 *     row 0x401000 /tmp/example/src/m.c:2
 *     inlined sq, called at /tmp/example/src/m.c:8, 0x401000-0x401003
 *
 * Each level of inlining is indented by two more; control characters of names come as \xNN.
 * `budget` bounds the memory of one function. UX_ECORRUPT stops at the first bad record.
 */
enum ux_code ux_gsym_dump(const struct ux_gsym *g, size_t budget, ux_gsym_sink_fn *sink, void *ctx,
			  struct ux_error *err) ux_must;

#endif
