/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that wait in a folder until they are forwarded. */
#ifndef UX_DISK_QUEUE_H
#define UX_DISK_QUEUE_H

#include "file.h"

enum {
	UX_DISK_QUEUE_LANES_MAX = 16,
	UX_DISK_QUEUE_MESSAGES_MAX = 1 << 20, /* in one folder */
};

/*
 * Each message is a file of the folder, NUMBER-SENDER and a suffix: a number in the order in which
 * the messages were added, and a hash of the sender, both in hexadecimal. Messages of one sender
 * are in one lane, whose order is kept. An added message is on disk, and stays there until it is
 * removed: however the process ends, the next one continues with it. Any thread.
 */
struct ux_disk_queue;

/* A message at the front of a lane. Zeroed = none. */
struct ux_disk_message {
	uint64_t number;
	struct ux_mapping file; /* unmapped by ux_disk_message_close() */
};

void ux_disk_message_close(struct ux_disk_message *m);

struct ux_disk_queue_options {
	const char *dir;
	const char *suffix; /* suffix of the files' names, such as ".pb.gz" */
	/* limit for all messages together, counted in blocks of the file system */
	uint64_t bytes_max;
	unsigned lanes; /* 1 to UX_DISK_QUEUE_LANES_MAX */
	/* a message that has no room replaces the oldest ones, instead of being refused */
	bool drops_oldest;
};

/*
 * Opens a folder, which is created (mode 0700) if it is missing, with its messages. Removes
 * incomplete files; ignores other files. Copies the options. UX_ECONFLICT: another process uses the
 * folder. UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_disk_queue_open(struct ux_disk_queue **ret,
				const struct ux_disk_queue_options *options, struct ux_error *err)
	ux_must;

/* Every thread that waits in ux_disk_queue_front() must have returned. NULL is allowed. */
void ux_disk_queue_close(struct ux_disk_queue *q);

/*
 * Adds a message to the lane of its sender. It is durable when this returns. UX_ELIMIT: the queue
 * is full, or the message is larger than the whole queue may be. UX_EIO: the message cannot be
 * written. UX_ENOMEM.
 */
enum ux_code ux_disk_queue_add(struct ux_disk_queue *q, uint64_t sender, struct ux_bytes message,
			       struct ux_error *err) ux_must;

/* Adds a message in several parts, which are concatenated in its file. */
enum ux_code ux_disk_queue_add_parts(struct ux_disk_queue *q, uint64_t sender,
				     const struct ux_bytes *parts, size_t n, struct ux_error *err)
	ux_must;

/* Tests for room for more. A hint, so that no work is done for a message that would be refused. */
bool ux_disk_queue_has_room(struct ux_disk_queue *q);

/*
 * Waits for a message at the front of a lane, and opens it. A file that vanished or cannot be read
 * is skipped and counted as lost. UX_EUNAVAILABLE: the queue is stopping.
 */
enum ux_code ux_disk_queue_front(struct ux_disk_queue *q, unsigned lane,
				 struct ux_disk_message *ret, struct ux_error *err) ux_must;

/*
 * Opens the first message of a lane with a number of at least `from`, without waiting; skips files
 * that cannot be read. UX_ENOTFOUND: no such message.
 */
enum ux_code ux_disk_queue_next(struct ux_disk_queue *q, unsigned lane, uint64_t from,
				struct ux_disk_message *ret, struct ux_error *err) ux_must;

/* Removes the message at the front of a lane, if it still has this number. */
void ux_disk_queue_remove(struct ux_disk_queue *q, unsigned lane, uint64_t number);

/* Waits at most ms; false: the queue is stopping. */
bool ux_disk_queue_pause(struct ux_disk_queue *q, int64_t ms);

/* Ends all waiting. Messages can still be added. */
void ux_disk_queue_stop(struct ux_disk_queue *q);
bool ux_disk_queue_is_stopping(struct ux_disk_queue *q);

struct ux_disk_queue_state {
	uint64_t messages;
	uint64_t bytes; /* in blocks of the file system */
	uint64_t bytes_max;
	uint64_t oldest_s; /* seconds since the oldest message was added */
	uint64_t lost;     /* files that vanished, or could not be read */
	uint64_t dropped;  /* messages that made room for later ones */
};
struct ux_disk_queue_state ux_disk_queue_state(struct ux_disk_queue *q);

#endif
