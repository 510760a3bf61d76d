/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the replacements for other symbolizers (addr2line, llvm-symbolizer): program
 * names, @FILE arguments and lookups. */
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
	UX_DROP_IN_ADDR2LINE,       /* from binutils */
	UX_DROP_IN_LLVM_SYMBOLIZER, /* from LLVM */
	/* LLVM's addr2line, which is almost compatible with binutils' */
	UX_DROP_IN_LLVM_ADDR2LINE,
};

/*
 * Returns the program that a program name stands for. The name may have directories, a target
 * prefix (x86_64-linux-gnu-addr2line) and a version suffix (llvm-symbolizer-14).
 */
enum ux_drop_in ux_drop_in_of(const char *argv0);

/* An open file with its symbols. Zeroed = closed. */
struct ux_drop_in_file {
	struct ux_symbol_source source;
	bool is_elf32;
};

/*
 * Opens path as `unhex lookup` does; a file without symbols is opened, too. arch selects the slice
 * of a universal file and may be NULL. UX_EUNSUPPORTED: the file is neither an ELF nor a GSYM file.
 * The codes of ux_file_map() are returned as well.
 */
enum ux_code ux_drop_in_open(struct ux_drop_in_file *f, const char *path, const char *debug_dirs,
			     const char *arch, bool columns, struct ux_error *err) ux_must;
void ux_drop_in_close(struct ux_drop_in_file *f);

enum {
	UX_DROP_IN_AHEAD = UX_SYMBOL_PART_PCS +
			   1, /* one call of ux_drop_in_load() gains nothing from more pcs */
};

/* Loads the symbols at these pcs. It must be called before the pcs are looked up, and it
 * invalidates the strings of frames that were returned before. A file without symbols is not a
 * failure. */
enum ux_code ux_drop_in_load(struct ux_drop_in_file *f, const uint64_t *pcs, size_t n,
			     struct ux_error *err) ux_must;

/* Fills frames, innermost first, with the frames at pc and returns their number. 0: none are known,
 * or the record is damaged. */
size_t ux_drop_in_frames(struct ux_drop_in_file *f, uint64_t pc, struct ux_frame *frames,
			 size_t max);

/* Writes the path of a frame's file, or with `base` only its base name; nothing when it is unknown.
 */
void ux_drop_in_write_path(struct ux_out *out, const struct ux_frame *frame, bool base);

/*
 * Escapes the text from `before` on, which a file chose: line breaks, which would look like another
 * answer to a program that reads lines; on a terminal all that ux_text() escapes. Other bytes stay
 * as the replaced tools write them.
 */
void ux_drop_in_clean(struct ux_out *out, size_t before);

/* Prints a line to stderr, escaped: it may quote a request or a name of a file. */
void ux_drop_in_complain(const char *fmt, ...) ux_printf(1, 2);

UX_VEC(ux_words, char *);

/* A command line that owns its words and their list (malloc'ed). Zeroed = empty. */
struct ux_command_line {
	struct ux_words argv; /* terminated by NULL */
	int argc;
};

/*
 * Copies argv. Every "@FILE" is replaced by the words of that file, recursively, or stays as it is
 * if the file cannot be read. Words are separated by white space, unless it is inside of '...' or
 * "..." or follows a backslash, as in the GNU tools (libiberty, "expandargv"). UX_ELIMIT: there are
 * more than UX_RESPONSE_FILES_MAX files or more than UX_RESPONSE_MAX bytes.
 */
enum ux_code ux_command_line_expand(struct ux_command_line *ret, int argc, char **argv,
				    struct ux_error *err) ux_must;
void ux_command_line_deinit(struct ux_command_line *c);

enum {
	UX_RESPONSE_FILES_MAX = 2000, /* as many as GNU's tools read */
	UX_RESPONSE_MAX = 64 << 20,   /* bytes of all files */
};

#endif
