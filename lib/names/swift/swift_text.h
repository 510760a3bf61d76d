/* SPDX-License-Identifier: Apache-2.0 */
/* Letters beyond ASCII in Swift's identifiers. */
#ifndef UX_SWIFT_TEXT_H
#define UX_SWIFT_TEXT_H

#include "bytes.h"

/*
 * The UTF-8 text of n bytes of Punycode as Swift has it ('_' before the code, A to J for 0 to 9)
 * into the `most` bytes at to; gives its size, 0 for what is malformed or too long. Source: RFC
 * 3492, and "Identifiers" of Swift's docs/ABI/Mangling.rst.
 */
size_t swift_punycode(const char *s, size_t n, char *to, size_t most);

#endif
