/* SPDX-License-Identifier: Apache-2.0 */
/* Additions of unhex's server to the protocol of debuginfod, for unhex's client. */
#ifndef UX_DEBUGINFOD_WORDS_H
#define UX_DEBUGINFOD_WORDS_H

/* Part of the message of a 404. Other clients of debuginfod show no message. */
#define UX_DEBUGINFOD_SYMBOLS_ONLY "has the symbols of this module, but not this file"

#endif
