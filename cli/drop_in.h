/* SPDX-License-Identifier: Apache-2.0 */
/* What the stand-ins for other symbolizers share: their names, @FILE arguments and lookups. */
#ifndef UX_DROP_IN_H
#define UX_DROP_IN_H

#include "bytes.h"
#include "demangle.h"
#include "error.h"
#include "out.h"
#include "symbol_source.h"
#include "unhex/frame.h"
#include "vec.h"

enum ux_drop_in {
	UX_DROP_IN_NONE,
	UX_DROP_IN_ADDR2LINE,       /* of binutils */
	UX_DROP_IN_LLVM_SYMBOLIZER, /* of LLVM */
	UX_DROP_IN_LLVM_ADDR2LINE,  /* of LLVM, almost compatible with that of binutils */
};

/*
 * The stand-in for a program name, which may have directories, a target prefix
 * (x86_64-linux-gnu-addr2line) and a version suffix (llvm-symbolizer-14).
 */
enum ux_drop_in ux_drop_in_of(const char *argv0);

/* An open file with its symbols. Zeroed = closed. */
struct ux_drop_in_file {
	struct ux_symbol_source source;
	bool is_elf32;
};

/*
 * Opens path as `unhex lookup` does; a file without symbols is opened, too. arch: slice of a
 * universal file, or NULL. UX_EUNSUPPORTED: neither an ELF nor a GSYM file. And the codes of
 * ux_file_map().
 */
enum ux_code ux_drop_in_open(struct ux_drop_in_file *f, const char *path, const char *debug_dirs,
			     const char *arch, struct ux_error *err) ux_must;
void ux_drop_in_close(struct ux_drop_in_file *f);

enum {
	UX_DROP_IN_AHEAD =
		UX_SYMBOL_PART_PCS + 1, /* pcs per call of ux_drop_in_load() that are useful */
};

/* Loads the symbols at these pcs, which must be done before looking them up. Invalidates the
 * strings of earlier frames. A file without symbols is not a failure. */
enum ux_code ux_drop_in_load(struct ux_drop_in_file *f, const uint64_t *pcs, size_t n,
			     struct ux_error *err) ux_must;

/* Returns the number of frames at pc, innermost first; 0: none are known, or the record is damaged.
 */
size_t ux_drop_in_frames(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max);

/* Writes the path of a frame's file, or with `base` only its base name; nothing when it is unknown.
 */
void ux_drop_in_write_path(struct ux_out *out, const struct ux_frame *frame, bool base);

UX_VEC(ux_words, char *);

/* A command line whose words and list are its own (malloc'ed). Zeroed = empty. */
struct ux_command_line {
	struct ux_words argv; /* terminated by NULL */
	int argc;
};

/*
 * Copies argv with every "@FILE" replaced by the words of that file, recursively; "@FILE" stays if
 * the file cannot be read. Words end at white space; quotes '...' and "..." and a backslash protect
 * it, as in the GNU tools (libiberty, "expandargv"). UX_ELIMIT: more than UX_RESPONSE_FILES_MOST
 * files, or over UX_RESPONSE_MOST bytes.
 */
enum ux_code ux_command_line_expand(struct ux_command_line *ret, int argc, char **argv,
				    struct ux_error *err) ux_must;
void ux_command_line_deinit(struct ux_command_line *c);

enum {
	UX_RESPONSE_FILES_MOST = 2000, /* as many as GNU's tools read */
	UX_RESPONSE_MOST = 64 << 20,   /* bytes of all files */
};

#endif
