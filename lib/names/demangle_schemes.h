/* SPDX-License-Identifier: Apache-2.0 */
/* The demanglers that demangle.c chooses from, one a mangling. */
#ifndef UX_DEMANGLE_SCHEMES_H
#define UX_DEMANGLE_SCHEMES_H

#include "demangle.h"
#include "name_text.h"

/*
 * Each writes the text of a whole linkage name to `text`, which is empty before. False when the
 * name is malformed, of another mangling, or would need more than the budget of `text`: what was
 * written is then of no use. Memory is on the stack, 400 KB for the deepest names. Any thread.
 */

/* As ux_demangle_as(); gives the steps that it took, at most UX_NAME_STEPS_MOST. */
unsigned ux_demangle_steps(struct ux_bytes name, const struct ux_demangle_how *how,
			   struct ux_out *out);

/* How a C++ name is written. */
struct ux_itanium_style {
	bool parameters; /* of functions, with what they return and a clone's suffix */
	bool elide;      /* "<...>" in place of template arguments */
	bool llvm;       /* as LLVM's tools write it, else as GNU's */
};

/* C++, "_Z...", perhaps with the suffix of a clone. Source: Itanium C++ ABI, 5.1. */
bool ux_itanium_demangle(struct ux_bytes name, struct ux_itanium_style style,
			 struct ux_name_text *text);

/* Rust, "_R...", without a suffix. Source: RFC 2603. */
bool ux_rust_v0_demangle(struct ux_bytes name, struct ux_name_text *text);

/* Bytes of the legacy Rust name that `name` begins with ("_ZN...17h<hash>E"); 0: it is none. */
size_t ux_rust_legacy_size(struct ux_bytes name);

/* The same name, of exactly those bytes. */
bool ux_rust_legacy_demangle(struct ux_bytes name, struct ux_name_text *text);

/* D, "_D..." and its thunks, without a suffix. Source: dlang.org, ABI, "Name Mangling". */
bool ux_dlang_demangle(struct ux_bytes name, struct ux_name_text *text);

/* Ada as GNAT encodes it; source: GNAT's exp_dbug.ads. False for a name that has to stay. */
bool ux_ada_demangle(struct ux_bytes name, struct ux_name_text *text);

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
 * Ada's a__b__c fits too many names: it stays. Linear in the name.
 */
bool ux_demangle_plain(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

/* GHC's z-encoding: the text of one part; false for what it cannot have written. */
bool ux_haskell_decode(struct ux_bytes part, struct ux_out *out);

/* A whole symbol of GHC: package, module, name and kind. */
bool ux_haskell_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
