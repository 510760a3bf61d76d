/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of large answers. */
#include "spare_memory.h"

void ux_spare_memory_init(struct ux_spare_memory *s)
{
	*s = (struct ux_spare_memory){0};
	pthread_mutex_init(&s->lock, NULL);
}

void ux_spare_memory_deinit(struct ux_spare_memory *s)
{
	while (s->n > 0)
		free(s->kept[--s->n].data);
	pthread_mutex_destroy(&s->lock);
}

void ux_spare_memory_limit(struct ux_spare_memory *s, size_t max)
{
	pthread_mutex_lock(&s->lock);
	s->max = max;
	while (s->bytes > max) {
		assert(s->n > 0);
		s->bytes -= s->kept[--s->n].cap;
		free(s->kept[s->n].data);
	}
	pthread_mutex_unlock(&s->lock);
}

void ux_spare_memory_take(struct ux_spare_memory *s, struct ux_out *out)
{
	uint8_t *data = NULL;
	size_t best = 0, cap = 0;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n; i++)
		if (s->kept[i].cap > s->kept[best].cap)
			best = i;
	if (s->n > 0 && out->cap == 0) {
		data = s->kept[best].data;
		cap = s->kept[best].cap;
		s->kept[best] = s->kept[--s->n];
		assert(s->bytes >= cap);
		s->bytes -= cap;
	}
	pthread_mutex_unlock(&s->lock);
	if (data && !ux_out_adopt(out, data, cap))
		free(data);
}

void ux_spare_memory_give(struct ux_spare_memory *s, struct ux_out *out)
{
	size_t cap = out->cap, unused = 0;
	uint8_t *data = ux_out_steal(out, &unused);
	pthread_mutex_lock(&s->lock);
	assert(s->bytes <= s->max);
	if (cap >= UX_SPARE_MIN && cap <= s->max - s->bytes && s->n < UX_SPARE_BUFFERS) {
		s->kept[s->n].data = ux_take(&data);
		s->kept[s->n++].cap = cap;
		s->bytes += cap;
	}
	pthread_mutex_unlock(&s->lock);
	free(data);
}
