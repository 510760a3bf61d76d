/* SPDX-License-Identifier: Apache-2.0 */
/* What the makers of seeds share. */
#ifndef UX_MAKE_CORPUS_H
#define UX_MAKE_CORPUS_H

#include "bytes.h"

/* Writes a seed into its corpus, over one of the same name. */
void save_seed(const char *corpus, const char *name, struct ux_bytes bytes);

void make_dwarf_corpus(void);
void make_reloc_corpus(void);

#endif
