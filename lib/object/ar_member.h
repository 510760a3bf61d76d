/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a static library.
 *
 *   "!<arch>\n", then for each member, at an even offset:
 *   name 16, date 12, owner 6, group 6, mode 8, size 10 (decimal text, filled with spaces), "`\n"
 *
 * BSD's ar, which Apple uses, writes "#1/LENGTH" for a name of over 16 letters or with a space; the
 * name is then stored before the content and is included in its size. System V's ar ends names with
 * "/". For a long name it writes "/OFFSET": an offset in the member "//", where each name ends with
 * "/\n". Source: ar(5) of FreeBSD and macOS.
 */
#ifndef UX_AR_MEMBER_H
#define UX_AR_MEMBER_H

#include "bytes.h"
#include "error.h"

/*
 * Finds the content of the member `name` and its date in seconds; if several members have that
 * name, the one with the date `mtime`, else the first. UX_ENOTFOUND: no member has that name.
 * UX_EUNSUPPORTED: not an archive. UX_ECORRUPT: the archive is damaged.
 */
enum ux_code ux_ar_member(struct ux_bytes archive, struct ux_bytes name, uint64_t mtime,
			  struct ux_bytes *ret, uint64_t *ret_mtime, struct ux_error *err) ux_must;

/* Returns true for a file that begins with an archive's magic. */
bool ux_ar_is(struct ux_bytes file);

/*
 * Returns the content of the member at offset *at, which is 0 at first and is advanced to the next
 * member. UX_ENOTFOUND: no more members; UX_EUNSUPPORTED and UX_ECORRUPT as of ux_ar_member().
 */
enum ux_code ux_ar_next(struct ux_bytes archive, uint64_t *at, struct ux_bytes *ret,
			struct ux_error *err) ux_must;

#endif
