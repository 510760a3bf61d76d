/* SPDX-License-Identifier: Apache-2.0 */
/* What unhex's server adds to the protocol of debuginfod, for unhex's client. */
#ifndef UX_DEBUGINFOD_WORDS_H
#define UX_DEBUGINFOD_WORDS_H

/* In the message of a 404: other clients of debuginfod show no message. */
#define UX_DEBUGINFOD_SYMBOLS_ONLY "has the symbols of this module, but not this file"

#endif
