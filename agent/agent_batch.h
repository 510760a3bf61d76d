/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are dealt with together, and the modules in them. */
#ifndef UX_AGENT_BATCH_H
#define UX_AGENT_BATCH_H

#include "agent_state.h"
#include "push_work.h"

struct ux_agent;

enum {
	/*
	 * Maximum number of batches under way that have modules left after their first
	 * turn; no further one begins meanwhile.
	 */
	UX_AGENT_BATCHES_MAX = 8,
	/* Modules, of 1.6 KB each, after which a batch takes no further file. */
	UX_AGENT_BATCH_MODULES = 1000,
};

struct ux_agent_batch {
	struct ux_agent *agent;
	struct ux_mapped_files files; /* taken over from a->files */
	enum ux_agent_known *known;   /* of each file; UX_AGENT_UNKNOWN: it is not remembered */
	bool *read;                   /* of each file: it was not known before */
	struct ux_push_modules modules;
	size_t *owners; /* for each module, the index of its file */
	size_t n_owners;
	struct ux_push_answer *answers; /* of each module */
	size_t wanted;                  /* modules that the server lacks */
	bool kept;    /* symbols go to the queue, and the server is not asked: nothing is known */
	size_t next;  /* the module that is dealt with next */
	size_t tasks; /* of this batch that have not ended */
	struct ux_push_packs debug_files; /* descriptors that the modules use */
};

UX_VEC(ux_agent_batches, struct ux_agent_batch *);

/*
 * Identifies some of the first n files that were found, takes them out of a->files, queries the
 * server about their modules unless `kept`, and appends the batch to a->batches. Every file has its
 * first module before any has its second one, so that a small file does not wait for one with
 * thousands. After an error all files are still in a->files or in a batch. Codes: as of
 * ux_push_query().
 */
enum ux_code ux_agent_batch_begin(struct ux_agent *a, size_t n, bool kept,
				  struct ux_agent_batch **ret, struct ux_error *err) ux_must;

/*
 * Follows the server's answer about the next module: extracts it, and hands it to a
 * sender, or to the queue. Codes: as of ux_agent_senders_add().
 */
enum ux_code ux_agent_batch_step(struct ux_agent_batch *b, struct ux_error *err) ux_must;

/* The file of the module that is next; NULL: there is none left. */
const struct ux_mapped_file *ux_agent_batch_next(const struct ux_agent_batch *b);

/* Remembers the files of batches that are over, and closes them. */
void ux_agent_batches_settle(struct ux_agent *a);

/*
 * Moves the files of batches that need the server back to a->files, after an error of the
 * connection; modules of them that were sent are remembered. No task may be left. UX_ENOMEM.
 */
enum ux_code ux_agent_batches_give_back(struct ux_agent *a, struct ux_error *err) ux_must;

/* Files that were found, in batches and outside of them. */
size_t ux_agent_waiting(const struct ux_agent *a);

void ux_agent_batches_free(struct ux_agent *a);

#endif
