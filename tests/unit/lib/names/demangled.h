/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of names for the tests of demanglers. */
#ifndef UX_TEST_DEMANGLED_H
#define UX_TEST_DEMANGLED_H

#include "sweep.h"

#include "demangle.h"

static inline void expect_mode(const char *name, enum ux_demangle_mode mode, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_bytes guarded = guard(ux_bytes_cstr(name));
	ux_demangle(guarded, mode, &out);
	guard_free(guarded);
	assert_int_equal(ux_out_status(&out, NULL), UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, text);
}

static inline void expect(const char *name, const char *shorter, const char *full)
{
	expect_mode(name, UX_DEMANGLE_NONE, name);
	expect_mode(name, UX_DEMANGLE_SHORT, shorter);
	expect_mode(name, UX_DEMANGLE_FULL, full);
}

#endif
