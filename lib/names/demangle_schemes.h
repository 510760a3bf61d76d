/* SPDX-License-Identifier: Apache-2.0 */
/* The demanglers that demangle.c chooses from, one for each mangling scheme. */
#ifndef UX_DEMANGLE_SCHEMES_H
#define UX_DEMANGLE_SCHEMES_H

#include "demangle.h"
#include "name_text.h"

/*
 * Each function writes the demangled form of a whole linkage name to `text`, which is empty before.
 * False when the name is malformed, of another scheme, or exceeds the budget of `text`; the content
 * of `text` is then undefined. Memory is on the stack, up to 400 KB for the most deeply nested
 * names. Any thread.
 */

/* As ux_demangle_as(), but returns the steps that it took, at most UX_NAME_STEPS_MAX. */
unsigned ux_demangle_steps(struct ux_bytes name, const struct ux_demangle_how *how,
			   struct ux_out *out);

/* Options of writing C++ names. */
struct ux_itanium_style {
	bool parameters; /* write functions' parameters and return types, and a clone's suffix */
	bool elide;      /* "<...>" in place of template arguments */
	bool llvm;       /* as LLVM's tools write it, else as GNU's tools do */
	bool tree;       /* read every name as a tree, for tests: the text is the same */
};

/* C++, "_Z...", perhaps with the suffix of a clone. Source: Itanium C++ ABI, 5.1. */
bool ux_itanium_demangle(struct ux_bytes name, struct ux_itanium_style style,
			 struct ux_name_text *text);

/* Rust, "_R...", without a suffix. Source: RFC 2603. */
bool ux_rust_v0_demangle(struct ux_bytes name, struct ux_name_text *text);

/*
 * Returns the length of the legacy Rust name ("_ZN...17h<hash>E") at the start of `name`; 0: none.
 */
size_t ux_rust_legacy_size(struct ux_bytes name);

/* Demangles a legacy Rust name of exactly that length. */
bool ux_rust_legacy_demangle(struct ux_bytes name, struct ux_name_text *text);

/* D, "_D..." and its thunks, without a suffix. Source: dlang.org, ABI, "Name Mangling". */
bool ux_dlang_demangle(struct ux_bytes name, struct ux_name_text *text);

/*
 * Ada as GNAT encodes it; source: GNAT's exp_dbug.ads. False for a name that must not be changed.
 */
bool ux_ada_demangle(struct ux_bytes name, struct ux_name_text *text);

/*
 * Appends the demangled form of a name that is not C++'s, Rust's, D's or Swift's. False, and
 * nothing is appended, for a name that is not changed. Only patterns that do not occur in names of
 * C are recognized:
 *
 *   Haskell   base_GHCziBase_map_info     base:GHC.Base.map     short: GHC.Base.map
 *   OCaml     camlStdlib__List__map_269   Stdlib.List.map
 *   Fortran   __mesh_MOD_refine           mesh::refine
 *   Nim       add__system_u1234           system.add
 *   Kotlin    kfun:a.B#c(kotlin.Int){}    a.B.c(kotlin.Int)     short: a.B.c
 *   Go        main.Map[go.shape.int]      as it is              short: main.Map[...]
 *   a clone   refine.part.0               as it is              short: refine
 *
 * Ada's a__b__c is not, since it matches too many other names. The time is linear in the length of
 * the name.
 */
bool ux_demangle_plain(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

/* Decodes one part of GHC's z-encoding. False when it is malformed. */
bool ux_haskell_decode(struct ux_bytes part, struct ux_out *out);

/* Demangles a whole symbol of GHC: package, module, name and kind. */
bool ux_haskell_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
