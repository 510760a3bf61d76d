/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a static library.
 *
 *   "!<arch>\n", then for each member, at an even offset:
 *   name 16, date 12, owner 6, group 6, mode 8, size 10 (decimal text, filled with spaces), "`\n"
 *
 * BSD's ar, which Apple uses, writes "#1/LENGTH" for a name of over 16 letters or with a space; it
 * is then in front of the content and counts in its size. System V's ends names with "/", and has
 * "/OFFSET" for long ones, which are in the member "//", each with "/\n" behind it. Source: ar(5)
 * of FreeBSD and macOS.
 */
#ifndef UX_AR_MEMBER_H
#define UX_AR_MEMBER_H

#include "bytes.h"
#include "error.h"

/*
 * The content of the member `name` and its date in seconds; of several of that name the one of
 * `mtime`, else the first. UX_ENOTFOUND: there is none. UX_EUNSUPPORTED: no archive; UX_ECORRUPT: a
 * damaged one.
 */
enum ux_code ux_ar_member(struct ux_bytes archive, struct ux_bytes name, uint64_t mtime,
			  struct ux_bytes *ret, uint64_t *ret_mtime, struct ux_error *err) ux_must;

/* True for what begins as an archive. */
bool ux_ar_is(struct ux_bytes file);

/*
 * The content of the member at *at, an offset that begins at 0 and is moved on. UX_ENOTFOUND: there
 * is no other; UX_EUNSUPPORTED and UX_ECORRUPT as above.
 */
enum ux_code ux_ar_next(struct ux_bytes archive, uint64_t *at, struct ux_bytes *ret,
			struct ux_error *err) ux_must;

#endif
