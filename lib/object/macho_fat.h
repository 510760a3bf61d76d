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
	/* A Java class begins with the same magic and then has its version where the count is: 45
	 * and more. */
	UX_MACHO_SLICES_MOST = 31,
	UX_MACHO_ARCH_TEXT = 32, /* bytes of a name with its NUL */
	UX_MACHO_LIST_TEXT = 128,
};

/* One machine's file. */
struct ux_macho_slice {
	uint32_t cpu;
	uint32_t subtype;
	struct ux_bytes bytes;
};

struct ux_macho_slices {
	struct ux_macho_slice list[UX_MACHO_SLICES_MOST];
	size_t size;
};

/* True for a Mach-O of one machine and for universal files; false for Java classes. */
bool ux_macho_any(struct ux_bytes file);

/* True for a universal file. */
bool ux_macho_is_fat(struct ux_bytes file);

/*
 * The Mach-O files in file: itself, or its slices in the order of the header. Slices of a universal
 * file that are no Mach-O (archives of objects) are left out. UX_EUNSUPPORTED: no Mach-O, or a
 * universal file without any; UX_ECORRUPT: a slice that leaves the file,
 * or reaches into another.
 */
enum ux_code ux_macho_slices(struct ux_bytes file, struct ux_macho_slices *ret,
			     struct ux_error *err) ux_must;

/* "x86_64", "arm64e", ... as Apple's tools say; what they do not know is "cpu 5 subtype 2". Writes
 * UX_MACHO_ARCH_TEXT bytes at most and returns text. */
const char *ux_macho_arch_name(uint32_t cpu, uint32_t subtype, char *text);

/* The slice that --arch=name means: Apple's name, or another usual one (amd64, aarch64); NULL when
 * there is none. */
const struct ux_macho_slice *ux_macho_slice_named(const struct ux_macho_slices *slices,
						  const char *name);

/* The slice for the machine that this runs on, or NULL. */
const struct ux_macho_slice *ux_macho_slice_host(const struct ux_macho_slices *slices);

/* The names of all slices, separated by commas, for messages. Returns text. */
const char *ux_macho_slices_list(const struct ux_macho_slices *slices,
				 char text[UX_MACHO_LIST_TEXT]);

/*
 * The slice that is meant: the one of `arch`; with arch NULL the only one, else the one whose UUID
 * is *id (NULL or size 0: not known), else the host's. UX_ENOTFOUND: there is none, and the message
 * lists those that are there.
 */
enum ux_code ux_macho_slice_choose(struct ux_bytes file, const char *arch, const struct ux_id *id,
				   struct ux_macho_slice *ret, struct ux_error *err) ux_must;

#endif
