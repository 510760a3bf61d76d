/* SPDX-License-Identifier: Apache-2.0 */
/* How many files may wait, and of whom. */
#include "file_room.h"

void ux_file_room_init(struct ux_file_room *r, size_t max)
{
	*r = (struct ux_file_room){.max = max};
	(void)pthread_mutex_init(&r->lock, NULL);
}

void ux_file_room_deinit(struct ux_file_room *r)
{
	ux_file_owners_deinit(&r->owners);
	(void)pthread_mutex_destroy(&r->lock);
}

static enum ux_code room_take(struct ux_file_room *r, uid_t owner, bool large, bool *ret,
			      struct ux_error *err)
{
	bool fresh = false;
	const size_t max = r->max + (large ? UX_FILE_ROOM_LARGE : 0);
	const size_t left = max - ux_min(r->waiting, max);
	size_t *of_owner = ux_file_owners_insert(&r->owners, owner, &fresh);
	if (!of_owner)
		return ux_error_nomem(err);
	*ret = *of_owner < left;
	if (*ret) {
		++*of_owner;
		r->waiting++;
	} else if (r->refused == 0) {
		r->refused = ux_max(r->waiting, (size_t)1);
	}
	return UX_OK;
}

enum ux_code ux_file_room_take(struct ux_file_room *r, uid_t owner, bool large, bool *ret,
			       struct ux_error *err)
{
	(void)pthread_mutex_lock(&r->lock);
	enum ux_code code = room_take(r, owner, large, ret, err);
	(void)pthread_mutex_unlock(&r->lock);
	return code;
}

void ux_file_room_give_back(struct ux_file_room *r, uid_t owner)
{
	(void)pthread_mutex_lock(&r->lock);
	size_t *of_owner = ux_file_owners_find(&r->owners, owner);
	if (of_owner && *of_owner > 0) {
		--*of_owner;
		r->waiting--;
	}
	if (r->waiting == 0) /* users come and go */
		ux_file_owners_deinit(&r->owners);
	(void)pthread_mutex_unlock(&r->lock);
}

bool ux_file_room_has_eased(struct ux_file_room *r)
{
	(void)pthread_mutex_lock(&r->lock);
	bool eased = r->refused > 0 && r->waiting <= r->refused / 2;
	if (eased)
		r->refused = 0;
	(void)pthread_mutex_unlock(&r->lock);
	return eased;
}
