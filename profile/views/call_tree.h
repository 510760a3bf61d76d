/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of calls of a profile: a node for each function in each chain of its callers, inlined
 * functions too. The second of two profiles is compared with the first in the same tree.
 */
#ifndef UX_CALL_TREE_H
#define UX_CALL_TREE_H

#include "call_place.h"
#include "functions.h"

enum {
	UX_CALL_NODES_MAX = 1 << 27, /* nodes of a tree while it is made */
	UX_CALL_ALL = 0,             /* function of the root */
	UX_CALL_SMALLER = 1,         /* function of the nodes that stand for several small ones */
	UX_CALL_COLUMNS_MAX = 2 * UX_PROFILE_VALUES_MAX,
};

/* How the calls in the samples of a node were made. */
enum {
	UX_CALL_CALLED = 1,
	UX_CALL_INLINED = 2,
};

/* The nodes of a tree are in preorder: a subtree is a range of them. */
struct ux_call_node {
	uint32_t function;
	uint32_t place;  /* number in the tree's places, plus one; 0: unknown */
	uint32_t caller; /* a node with a lower number; of the root: itself */
	uint32_t depth;  /* 0 for the root */
	uint32_t end;    /* index of the first node after its subtree */
	uint8_t calls;   /* UX_CALL_CALLED, UX_CALL_INLINED or both */
};

UX_VEC(ux_call_nodes, struct ux_call_node);

struct ux_call_options {
	enum ux_demangle_mode demangle;
	bool threads; /* the root's children are the threads, "name (pid/tid)" */
	/*
	 * Most nodes of the tree, not counting UX_CALL_SMALLER. If there are more, the smallest are
	 * dropped, and a node of UX_CALL_SMALLER replaces the dropped callees of one caller with
	 * their sum. 0: no limit.
	 */
	size_t max;
	/* Most nodes while the tree grows; more are UX_ELIMIT. 0: UX_CALL_NODES_MAX. */
	size_t grown_max;
	/* Most bytes of function names; more are UX_ELIMIT. 0: UX_PROFILE_BYTES_MAX. */
	size_t names_max;
	/* Nodes with less than this share of the profile are dropped in the same way. */
	double min;
	/*
	 * Nodes in modules that have pages get the place of their location with the largest values.
	 * NULL: no node gets one.
	 */
	ux_has_pages_fn *has_pages;
	void *has_pages_ctx;
};

/*
 * Zeroed = empty. The children of a node are ordered by total, the largest first, then by name.
 * Each node has n_columns values: the first profile's, then the second's.
 */
struct ux_call_tree {
	struct ux_functions functions;
	struct ux_call_nodes nodes;
	struct ux_call_places places; /* in the order of the first nodes that use them */
	struct ux_profile_type types[UX_PROFILE_VALUES_MAX]; /* strings of `functions` */
	size_t n_types;
	size_t n_columns; /* n_types, or twice that */
	int64_t *self;    /* without callees; the values of node i start at i * n_columns */
	int64_t *total;   /* values including callees */
	size_t n_left_out;
};

/*
 * Makes the tree of `p`, compared with `other` if it is not NULL, in the values that both have. The
 * tree must be released in either case. UX_EINVAL: the profiles have no values in common.
 * UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_call_tree_make(struct ux_call_tree *t, const struct ux_profile *p,
			       const struct ux_profile *other,
			       const struct ux_call_options *options, struct ux_error *err) ux_must;
void ux_call_tree_deinit(struct ux_call_tree *t);

/*
 * Sets the index of the value with that name; an empty name selects the last value, as in pprof.
 * UX_ENOTFOUND: there is no such value; the message lists the names.
 */
enum ux_code ux_call_tree_type(const struct ux_call_tree *t, struct ux_bytes name, size_t *ret,
			       struct ux_error *err) ux_must;

static inline int64_t ux_call_total(const struct ux_call_tree *t, size_t node, size_t column)
{
	return t->total[node * t->n_columns + column];
}

static inline int64_t ux_call_self(const struct ux_call_tree *t, size_t node, size_t column)
{
	return t->self[node * t->n_columns + column];
}

#endif
