/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of crash reports: stacks as debuggers, run-time libraries, kernels and crash handlers
 * print them. The form of each line is found from the line itself, so that reports may have
 * prefixes, may be cut out of a log, and may follow each other in one text.
 */
#ifndef UX_CRASH_LINE_H
#define UX_CRASH_LINE_H

#include "bytes.h"

/* The programs that print each form of line. */
enum ux_crash_form {
	UX_CRASH_PLAIN,     /* IDs, files with offsets, addresses */
	UX_CRASH_BACKTRACE, /* backtrace_symbols(3) of glibc */
	UX_CRASH_SANITIZER, /* AddressSanitizer, ThreadSanitizer, ... of gcc and clang */
	UX_CRASH_GDB,       /* bt of gdb, and pstack, which runs it */
	UX_CRASH_COREDUMP,  /* systemd-coredump */
	UX_CRASH_ELFUTILS,  /* eu-stack */
	UX_CRASH_GO,
	UX_CRASH_RUST,
	UX_CRASH_KERNEL,  /* Linux: an oops, a warning, a stack in its log */
	UX_CRASH_FAULT,   /* Linux: why a program ended, "segfault at ... ip ... in NAME[...]" */
	UX_CRASH_JAVA,    /* native frames of hs_err files of HotSpot */
	UX_CRASH_ANDROID, /* tombstones */
	UX_CRASH_APPLE,   /* crash reports of macOS in text form */
	UX_CRASH_PERF,    /* a location of perf script */
	UX_CRASH_VALGRIND,
	UX_CRASH_PYTHON, /* the stack of C that faulthandler prints */
	UX_CRASH_PYSPY,  /* py-spy dump, whose stacks may have native frames */
	UX_CRASH_FORM_COUNT
};

/* "plain", "backtrace", "sanitizer", "gdb", "coredump", "elfutils", "go", "rust", "kernel",
 * "fault", "java", "android", "apple", "perf", "valgrind", "python",
 * "pyspy"; never NULL. */
const char *ux_crash_form_name(enum ux_crash_form form);

/* The place from which the offset of a frame counts. */
enum ux_crash_origin {
	UX_CRASH_NOWHERE, /* there is no offset */
	UX_CRASH_PC,      /* it is a virtual address of the module's file */
	UX_CRASH_START,   /* bytes from the lowest address that the module has in memory */
	UX_CRASH_FILE,    /* position in the module's file */
	UX_CRASH_UNSAID,  /* a virtual address of the file, or an address of the process */
};

/* One frame of a stack. The slices refer to the text; empty ones are unknown. */
struct ux_crash_frame {
	enum ux_crash_form form;
	enum ux_crash_origin origin;
	struct ux_bytes module; /* path or name of the file; "vmlinux" for the kernel itself */
	struct ux_bytes id;     /* ID of the module, in the syntax of ux_id_parse() */
	struct ux_bytes symbol; /* name of the function as printed in the text */
	uint64_t offset;        /* offset from `origin` */
	uint64_t address;       /* address in the process; valid with has_address */
	uint64_t symbol_offset; /* bytes from the start of `symbol`, with has_symbol_offset */
	uint64_t symbol_size;   /* bytes of `symbol`; 0: unknown */
	/* position in the file; valid with has_position; set by ux_crash_report_settle() */
	uint64_t position;
	bool has_address;
	bool has_symbol_offset;
	bool has_position;
	bool returns;  /* it is a return address: the call is before it */
	bool located;  /* the text has its function, file and line already */
	bool doubtful; /* the text marks it as possibly not a caller ("? " of Linux) */
};

/* Kinds of lines besides frames. */
enum ux_crash_fact {
	UX_CRASH_NO_FACT,
	UX_CRASH_MODULE,  /* `module` has the identity `id` */
	UX_CRASH_CURRENT, /* only an ID, which is the ID of the following addresses */
	UX_CRASH_MAPPING, /* addresses [start, end) are `module` from position `off` on */
	UX_CRASH_IMAGE,   /* `module` begins at address `start`; `id` may be known */
	UX_CRASH_RELEASE, /* `module` is the release of the kernel, as of uname -r */
};

enum {
	UX_CRASH_FRAMES_MAX = 16,    /* frames in one line */
	UX_CRASH_LINE_MAX = 1 << 16, /* bytes; longer lines have neither frames nor facts */
};

/* The content of one line. */
struct ux_crash_line {
	struct ux_crash_frame frames[UX_CRASH_FRAMES_MAX];
	size_t n;
	bool more;        /* there were more than UX_CRASH_FRAMES_MAX */
	size_t followers; /* lines after the first one that belong to its frame */
	enum ux_crash_fact fact;
	struct ux_bytes module, id;
	uint64_t start, end, off;
};

/* Facts from earlier lines of the text. Zeroed at its start. */
struct ux_crash_reader {
	struct ux_bytes function; /* for Go: the previous line if it is a call; otherwise empty */
	enum ux_crash_form form;  /* form of the lines of the current stack */
	uint64_t depth;           /* frames since the stack began */
	bool in_stack;
	bool after_signal; /* the previous frame was a signal handler's return */
	bool marks_calls;  /* for eu-stack: return addresses are marked */
};

/*
 * Takes the next line off the text, and reads it. *ret_whole is the line with its line break, and
 * with the following lines that belong to its frame. Returns false at the end of the text.
 * The work is proportional to the size of the lines that it looks at.
 */
bool ux_crash_next(struct ux_crash_reader *r, struct ux_bytes *text, struct ux_bytes *ret_whole,
		   struct ux_crash_line *ret);

/* Returns whether a function is, by its name, the code to which signal handlers return. The frame
 * after it was interrupted, so its address is not a return address. */
bool ux_crash_is_signal_return(struct ux_bytes function);

/*
 * Returns whether the text is a crash report: one of its lines is a frame in a form other than
 * UX_CRASH_PLAIN and UX_CRASH_PERF. *ret_frame, which may be NULL, is the first such line. Reads at
 * most 256 KiB.
 */
bool ux_crash_is(struct ux_bytes text, struct ux_bytes *ret_frame);

#endif
