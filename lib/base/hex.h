/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal text. */
#ifndef UX_HEX_H
#define UX_HEX_H

#include "bytes.h"

/* Writes 2n lower-case digits and a NUL to text, which has room for 2n + 1. */
void ux_hex_encode(struct ux_bytes bytes, char *text);

/* Reads 2n digits of either case; false for an odd count, another character or more than max bytes.
 */
bool ux_hex_decode(struct ux_bytes text, uint8_t *bytes, size_t max, size_t *ret_n) ux_must;

/* The value of a digit, or -1. */
int ux_hex_digit(char c);

/*
 * An address as people type it: 0x..., or decimal, or bare hexadecimal with hex. False for anything
 * else, also for a value over 64 bits.
 */
bool ux_hex_parse_u64(struct ux_bytes text, bool hex, uint64_t *ret) ux_must;

#endif
