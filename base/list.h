/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list.h - intrusive doubly linked list, circular through its head
 *
 * A node that is on no list points to itself, so list_del() twice is fine.
 */
#ifndef EGRET_BASE_LIST_H
#define EGRET_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_del(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_for_each_safe(pos, tmp, head)                               \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

#endif /* EGRET_BASE_LIST_H */
