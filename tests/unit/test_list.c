/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>

#include "base/list.h"

struct item {
	int value;
	struct list node;
};

static int sum_in_order(struct list *head)
{
	struct list *pos, *tmp;
	int sum = 0;

	list_for_each_safe (pos, tmp, head)
		sum = 10 * sum + container_of(pos, struct item, node)->value;
	return sum;
}

START_TEST(keeps_the_order_of_adding)
{
	struct item a = { .value = 1 }, b = { .value = 2 }, c = { .value = 3 };
	struct list head;

	list_init(&head);
	ck_assert(list_empty(&head));
	list_add_tail(&head, &a.node);
	list_add_tail(&head, &b.node);
	list_add_tail(&head, &c.node);
	ck_assert(!list_empty(&head));
	ck_assert_int_eq(sum_in_order(&head), 123);
	list_del(&b.node);
	ck_assert_int_eq(sum_in_order(&head), 13);
	list_add_tail(&head, &b.node);
	ck_assert_int_eq(sum_in_order(&head), 132);
}
END_TEST

START_TEST(deleting_twice_is_fine)
{
	struct item a = { .value = 1 }, b = { .value = 2 };
	struct list head;

	list_init(&head);
	list_add_tail(&head, &a.node);
	list_add_tail(&head, &b.node);
	list_del(&a.node);
	list_del(&a.node);
	ck_assert_int_eq(sum_in_order(&head), 2);
	ck_assert(list_empty(&a.node));
	list_del(&b.node);
	ck_assert(list_empty(&head));
}
END_TEST

START_TEST(the_current_one_may_go_while_walking)
{
	struct list head, *pos, *tmp;
	int freed = 0;

	list_init(&head);
	for (int i = 0; i < 5; i++) {
		struct item *it = calloc(1, sizeof(*it));

		ck_assert_ptr_nonnull(it);
		list_add_tail(&head, &it->node);
	}
	list_for_each_safe (pos, tmp, &head) {
		list_del(pos);
		free(container_of(pos, struct item, node));
		freed++;
	}
	ck_assert_int_eq(freed, 5);
	ck_assert(list_empty(&head));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list");
	TCase *tc = tcase_create("list");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, keeps_the_order_of_adding);
	tcase_add_test(tc, deleting_twice_is_fine);
	tcase_add_test(tc, the_current_one_may_go_while_walking);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
