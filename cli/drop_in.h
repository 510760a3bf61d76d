/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-ins for other projects' symbolizers share. */
#ifndef UX_DROP_IN_H
#define UX_DROP_IN_H

#include "bytes.h"
#include "demangle.h"
#include "out.h"
#include "symbol_source.h"
#include "unhex/frame.h"

enum ux_drop_in {
	UX_DROP_IN_NONE,
	UX_DROP_IN_ADDR2LINE,       /* of binutils */
	UX_DROP_IN_LLVM_SYMBOLIZER, /* of LLVM */
	UX_DROP_IN_LLVM_ADDR2LINE,  /* of LLVM, which speaks almost as that of binutils */
};

/*
 * Which of them a program's name asks for: with or without folders, a target before it
 * (x86_64-linux-gnu-addr2line) and a version behind it (llvm-symbolizer-14).
 */
enum ux_drop_in ux_drop_in_of(const char *argv0);

/* What a file is looked up in. Zeroed = closed. */
struct ux_drop_in_file {
	struct ux_symbol_source source;
	bool is_elf32;
};

/*
 * arch: slice of a universal file, or NULL. Opens path as `unhex lookup` does; a file without any
 * symbols is open, too, and knows nothing. UX_EUNSUPPORTED: neither an ELF nor a GSYM file. And the
 * codes of ux_file_map().
 */
enum ux_code ux_drop_in_open(struct ux_drop_in_file *f, const char *path, const char *debug_dirs,
			     const char *arch, struct ux_error *err) ux_must;
void ux_drop_in_close(struct ux_drop_in_file *f);

enum {
	UX_DROP_IN_AHEAD = UX_SYMBOL_PART_PCS + 1, /* pcs that it is of use to tell at once */
};

/* Makes the file be read as far as these pcs take it, before they are looked up. Texts of frames
 * are gone then. A file without symbols is no failure. */
enum ux_code ux_drop_in_need(struct ux_drop_in_file *f, const uint64_t *pcs, size_t n,
			     struct ux_error *err) ux_must;

/* The frames at pc, innermost first; 0: nothing is known there, or the record is damaged. */
size_t ux_drop_in_frames(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max);

/* The file of a frame: its folder and its name joined, or `base` alone; no text when unknown. */
void ux_drop_in_path(struct ux_out *out, const struct ux_frame *frame, bool base);

#endif
