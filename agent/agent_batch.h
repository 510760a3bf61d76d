/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: files that are processed together, and their modules. */
#ifndef UX_AGENT_BATCH_H
#define UX_AGENT_BATCH_H

#include "agent_state.h"
#include "push_work.h"

struct ux_agent;

enum {
	/*
	 * Maximum number of unfinished batches that had their first turn. No new batch begins while
	 * there are so many.
	 */
	UX_AGENT_BATCHES_MAX = 8,
	/* Modules in a batch, of 1.6 KB each; a batch with so many takes no further file. */
	UX_AGENT_BATCH_MODULES = 1000,
};

struct ux_agent_batch {
	struct ux_agent *agent;
	struct ux_mapped_files files; /* taken over from a->files */
	/* answer for each file; UX_AGENT_UNKNOWN: do not remember it */
	enum ux_agent_known *known;
	bool *read; /* for each file: it was not known before */
	struct ux_push_modules modules;
	size_t *owners; /* for each module, the index of its file */
	size_t n_owners;
	struct ux_push_answer *answers; /* of each module */
	size_t wanted;                  /* modules that the server lacks */
	/* symbols go to the queue without asking the server, so that nothing is known */
	bool kept;
	size_t next;                      /* index of the module to process next */
	size_t tasks;                     /* tasks of this batch that have not ended */
	struct ux_push_packs debug_files; /* open debug files of the modules */
};

UX_VEC(ux_agent_batches, struct ux_agent_batch *);

/*
 * Identifies some of the first n files of a->files, moves them to a new batch, queries the server
 * about their modules unless `kept`, and appends the batch to a->batches. The first modules of all
 * files come before any second module, so that a small file does not wait for a file with thousands
 * of modules. After an error, every file is still in a->files or in a batch. Codes of
 * ux_push_query().
 */
enum ux_code ux_agent_batch_begin(struct ux_agent *a, size_t n, bool kept,
				  struct ux_agent_batch **ret, struct ux_error *err) ux_must;

/*
 * Acts on the server's answer about the next module: extracts the module if it is wanted, and
 * passes it to a sender or to the queue. Codes of ux_agent_senders_add().
 */
enum ux_code ux_agent_batch_step(struct ux_agent_batch *b, struct ux_error *err) ux_must;

/* Returns the file of the next module; NULL: no module is left. */
const struct ux_mapped_file *ux_agent_batch_next(const struct ux_agent_batch *b);

/* Remembers the files of finished batches, and closes them. */
void ux_agent_batches_settle(struct ux_agent *a);

/*
 * After a connection error: moves the files of batches that need the server back to a->files.
 * Modules that were sent stay remembered. No task may be left. UX_ENOMEM.
 */
enum ux_code ux_agent_batches_give_back(struct ux_agent *a, struct ux_error *err) ux_must;

/* Returns the number of waiting files, in batches and outside of them. */
size_t ux_agent_waiting(const struct ux_agent *a);

void ux_agent_batches_free(struct ux_agent *a);

#endif
