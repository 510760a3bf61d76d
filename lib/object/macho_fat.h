/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Universal ("fat") files: the same program for several machines in one file.
 *
 *   header  magic u32 (0xcafebabe, or 0xcafebabf: entries of 64 bits), nfat_arch u32
 *   entry   cputype u32, cpusubtype u32, offset u32, size u32, align u32 (a power of two)
 *   or      cputype u32, cpusubtype u32, offset u64, size u64, align u32, reserved u32
 *
 * All of it is big-endian, whatever the slices are. Source: Apple's <mach-o/fat.h>.
 */
#ifndef UX_MACHO_FAT_H
#define UX_MACHO_FAT_H

#include "macho_file.h"

enum {
	/*
	 * A Java class file begins with the same magic. At the offset of the count it has its
	 * version, which is 45 or more.
	 */
	UX_MACHO_SLICES_MAX = 31,
	UX_MACHO_ARCH_TEXT = 32, /* bytes of a name with its NUL */
	UX_MACHO_LIST_TEXT = 128,
};

/* The file of one machine. */
struct ux_macho_slice {
	uint32_t cpu;
	uint32_t subtype;
	struct ux_bytes bytes;
};

struct ux_macho_slices {
	struct ux_macho_slice list[UX_MACHO_SLICES_MAX];
	size_t size;
};

/* Returns true for a Mach-O of one machine and for universal files; false for Java classes. */
bool ux_macho_any(struct ux_bytes file);

/* Returns true for a universal file. */
bool ux_macho_is_fat(struct ux_bytes file);

/*
 * Lists the Mach-O files in a file: the file itself, or its slices in the order of the header.
 * Slices of a universal file that are not Mach-O files (archives of objects) are left out.
 * UX_EUNSUPPORTED: not a Mach-O file, or a universal file without one. UX_ECORRUPT: a slice exceeds
 * the file or overlaps another slice.
 */
enum ux_code ux_macho_slices(struct ux_bytes file, struct ux_macho_slices *ret,
			     struct ux_error *err) ux_must;

/*
 * "x86_64", "arm64e", ... as Apple's tools name it; an unknown one is "cpu 5 subtype 2". Writes
 * UX_MACHO_ARCH_TEXT bytes at most and returns text.
 */
const char *ux_macho_arch_name(uint32_t cpu, uint32_t subtype, char *text);

/*
 * Returns the slice that --arch=name selects, by Apple's name or by another common one (amd64,
 * aarch64). NULL: no such slice.
 */
const struct ux_macho_slice *ux_macho_slice_named(const struct ux_macho_slices *slices,
						  const char *name);

/* Returns the slice for the machine that this runs on, or NULL. */
const struct ux_macho_slice *ux_macho_slice_host(const struct ux_macho_slices *slices);

/* Writes the names of all slices, separated by commas, for messages. Returns text. */
const char *ux_macho_slices_list(const struct ux_macho_slices *slices,
				 char text[UX_MACHO_LIST_TEXT]);

/*
 * Chooses a slice: the slice of `arch`; when arch is NULL the only one, else the slice with the
 * UUID *id (NULL or size 0: unknown), else the host's. UX_ENOTFOUND: no slice fits; the message
 * lists the slices of the file.
 */
enum ux_code ux_macho_slice_choose(struct ux_bytes file, const char *arch, const struct ux_id *id,
				   struct ux_macho_slice *ret, struct ux_error *err) ux_must;

#endif
