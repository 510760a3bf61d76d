/* SPDX-License-Identifier: Apache-2.0 */
/* Names of languages that have no marked mangling, where their own pattern tells them. */
#ifndef UX_DEMANGLE_PLAIN_H
#define UX_DEMANGLE_PLAIN_H

#include "demangle.h"

/*
 * Appends the text for a name that is not C++'s, Rust's, D's or Swift's; false, and nothing
 * appended, for one that stays as it is. Only patterns that names of C do not have:
 *
 *   Haskell   base_GHCziBase_map_info     base:GHC.Base.map     short: GHC.Base.map
 *   OCaml     camlStdlib__List__map_269   Stdlib.List.map
 *   Fortran   __mesh_MOD_refine           mesh::refine
 *   Nim       add__system_u1234           system.add
 *   Kotlin    kfun:a.B#c(kotlin.Int){}    a.B.c(kotlin.Int)     short: a.B.c
 *   Go        main.Map[go.shape.int]      as it is              short: main.Map[...]
 *   a clone   refine.part.0               as it is              short: refine
 *
 * Ada's a__b__c fits too many names: it stays.
 */
bool ux_demangle_plain(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

/* GHC's z-encoding: the text of one part; false for what it cannot have written. */
bool ux_haskell_decode(struct ux_bytes part, struct ux_out *out);

/* A whole symbol of GHC: package, module, name and kind. */
bool ux_haskell_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
