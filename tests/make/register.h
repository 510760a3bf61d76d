/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that constructors fill before main(), so that a file of tests or a fuzz target is named
 * only in meson.build. */
#ifndef UX_REGISTER_H
#define UX_REGISTER_H

/* Adds a struct `type` with the name `of` and the function `code` to `list`. */
#define REGISTER(type, list, of, code)                                   \
	__attribute__((constructor)) static void type##_add_##of(void)   \
	{                                                                \
		static struct type added = {.name = #of, .run = (code)}; \
		added.next = (list);                                     \
		(list) = &added;                                         \
	}

#endif
