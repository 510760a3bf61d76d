/* SPDX-License-Identifier: Apache-2.0 */
/* The compact form of POST /v1/symbolize: its constants. docs/formats/symbolize-binary.md. */
#ifndef UX_WIRE_H
#define UX_WIRE_H

#include "base.h"

#define UX_WIRE_TYPE "application/x-unhex-symbolize"

enum {
	UX_WIRE_VERSION = 1,
	UX_WIRE_HEAD = 4, /* bytes: three of magic, the version */

	UX_WIRE_RETURN_ADDRESSES = 1, /* of a question's flags */

	/* Before each module of a question is the type of its ID and 1. */
	UX_WIRE_END = 0,

	/* How addresses are written. */
	UX_WIRE_FIXED = 0,  /* eight bytes each, low one first */
	UX_WIRE_DELTAS = 1, /* signed LEB128 of the difference to the one before; the first to 0 */
};

#define UX_WIRE_QUESTION_MAGIC "UXQ"
#define UX_WIRE_REPLY_MAGIC    "UXR"

#endif
