/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_loop.c - each guarantee of base/loop.h
 *
 * Watchers that are removed are freed right after, so that a build with
 * AddressSanitizer reports any use of them.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"

static struct loop *loop;
static char trace[256]; /* what was called, one letter each */

static void mark(char c)
{
	size_t n = strlen(trace);

	ck_assert_uint_lt(n + 1, sizeof(trace));
	trace[n] = c;
	trace[n + 1] = '\0';
}

static void setup(void)
{
	ck_assert_int_eq(loop_new(&loop, NULL), 0);
	trace[0] = '\0';
}

static void teardown(void)
{
	loop_freep(&loop);
	ck_assert_ptr_null(loop);
}

static void turn(void)
{
	ck_assert_int_eq(loop_run_once(loop, 0), 0);
}

/* A watcher on the heap with an eventfd that is ready from the start. */
struct ready {
	struct loop_fd w;
	char letter;
	struct ready *victim;
	int fd;
	uint32_t seen;
};

static struct ready *new_ready(char letter, loop_fd_fn *fn)
{
	struct ready *r = calloc(1, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	r->letter = letter;
	r->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ge(r->fd, 0);
	ck_assert_int_eq(loop_add_fd(loop, &r->w, r->fd, EPOLLIN, fn), 0);
	return r;
}

static void drop_ready(struct ready *r)
{
	loop_del_fd(&r->w);
	fd_closep(&r->fd);
	memset(r, 0xa5, sizeof(*r));
	free(r);
}

static void on_ready(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);

	r->seen = events;
	mark(r->letter);
}

static void on_ready_drop_self(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);

	ck_assert_uint_eq(events, EPOLLIN);
	mark(r->letter);
	drop_ready(r);
}

/* The first of a pair that is called removes the other one. */
static void on_ready_drop_victim(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);

	ck_assert_uint_eq(events, EPOLLIN);
	mark(r->letter);
	if (!r->victim)
		return;
	r->victim->victim = NULL;
	drop_ready(r->victim);
	r->victim = NULL;
}

START_TEST(a_ready_descriptor_is_called_each_turn)
{
	struct ready *a = new_ready('a', on_ready);

	ck_assert(loop_fd_is_watching(&a->w));
	turn();
	turn();
	ck_assert_str_eq(trace, "aa");
	ck_assert_uint_eq(a->seen, EPOLLIN);
	loop_del_fd(&a->w);
	ck_assert(!loop_fd_is_watching(&a->w));
	loop_del_fd(&a->w);
	turn();
	ck_assert_str_eq(trace, "aa");
	drop_ready(a);
}
END_TEST

START_TEST(a_watcher_may_remove_and_free_itself)
{
	(void)new_ready('a', on_ready_drop_self);
	(void)new_ready('b', on_ready_drop_self);
	turn();
	ck_assert_uint_eq(strlen(trace), 2);
	turn();
	ck_assert_uint_eq(strlen(trace), 2);
}
END_TEST

START_TEST(a_watcher_later_in_the_batch_may_be_freed)
{
	struct ready *a = new_ready('a', on_ready_drop_victim);
	struct ready *b = new_ready('b', on_ready_drop_victim);
	char first;

	a->victim = b;
	b->victim = a;
	turn();
	/* whichever came first removed the other before its callback */
	ck_assert_uint_eq(strlen(trace), 1);
	first = trace[0];
	turn();
	ck_assert_uint_eq(strlen(trace), 2);
	ck_assert_int_eq(trace[1], first);
	drop_ready(first == 'a' ? a : b);
}
END_TEST

/* Removes the other one and gives its descriptor's number to a new owner. */
static void on_ready_reuse(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);
	struct ready *v = r->victim;
	int number;

	ck_assert_uint_eq(events, EPOLLIN);
	mark(r->letter);
	if (!v)
		return;
	r->victim = NULL;
	v->victim = NULL;
	number = v->fd;
	loop_del_fd(&v->w);
	fd_closep(&v->fd);
	v->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* not ready */
	ck_assert_int_eq(v->fd, number);
	v->letter = 'X';
	ck_assert_int_eq(loop_add_fd(loop, &v->w, v->fd, EPOLLIN, on_ready), 0);
}

START_TEST(a_reused_number_gets_no_stale_event)
{
	struct ready *a = new_ready('a', on_ready_reuse);
	struct ready *b = new_ready('b', on_ready_reuse);

	a->victim = b;
	b->victim = a;
	turn();
	ck_assert_uint_eq(strlen(trace), 1);
	turn();
	ck_assert_uint_eq(strlen(trace), 2);
	/* neither the watcher's memory nor its number tell of the old event */
	ck_assert_ptr_null(strchr(trace, 'X'));
	drop_ready(a);
	drop_ready(b);
}
END_TEST

static void on_ready_pause_victim(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);

	ck_assert_uint_eq(events, EPOLLIN);
	mark(r->letter);
	if (r->victim)
		ck_assert_int_eq(loop_mod_fd(&r->victim->w, 0), 0);
}

START_TEST(a_paused_watcher_is_not_called_in_the_same_turn)
{
	struct ready *a = new_ready('a', on_ready_pause_victim);
	struct ready *b = new_ready('b', on_ready_pause_victim);

	a->victim = b;
	b->victim = a;
	turn();
	ck_assert_uint_eq(strlen(trace), 1);
	/* level-triggered: it comes as soon as it's wanted again */
	ck_assert_int_eq(loop_mod_fd(trace[0] == 'a' ? &b->w : &a->w, EPOLLIN),
			 0);
	a->victim = b->victim = NULL;
	turn();
	ck_assert_uint_eq(strlen(trace), 3);
	drop_ready(a);
	drop_ready(b);
}
END_TEST

static void on_ready_add(struct loop_fd *w, uint32_t events)
{
	struct ready *r = container_of(w, struct ready, w);

	ck_assert_uint_eq(events, EPOLLIN);
	mark(r->letter);
	r->victim = new_ready('n', on_ready);
	loop_del_fd(w);
}

START_TEST(a_watcher_added_in_a_callback_waits_for_the_next_turn)
{
	struct ready *a = new_ready('a', on_ready_add);

	turn();
	ck_assert_str_eq(trace, "a");
	turn();
	ck_assert_str_eq(trace, "an");
	drop_ready(a->victim);
	drop_ready(a);
}
END_TEST

START_TEST(hang_up_is_told_and_events_can_change)
{
	struct ready r = { .letter = 'p' };
	int fds[2];

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_eq(loop_mod_fd(&r.w, EPOLLIN), -EBADF);
	ck_assert_int_eq(loop_add_fd(loop, &r.w, fds[1], 0, on_ready), 0);
	turn();
	ck_assert_str_eq(trace, "");
	ck_assert_int_eq(loop_mod_fd(&r.w, EPOLLOUT), 0);
	ck_assert_int_eq(loop_mod_fd(&r.w, EPOLLOUT), 0);
	turn();
	ck_assert_uint_eq(r.seen, EPOLLOUT);
	ck_assert_int_eq(loop_mod_fd(&r.w, 0), 0);
	fd_closep(&fds[0]);
	turn();
	ck_assert_uint_eq(r.seen, EPOLLERR);
	ck_assert_str_eq(trace, "pp");
	loop_del_fd(&r.w);
	fd_closep(&fds[1]);
}
END_TEST

START_TEST(bad_descriptors_are_refused)
{
	struct ready r = { 0 };

	ck_assert_int_eq(loop_add_fd(loop, &r.w, -1, EPOLLIN, on_ready),
			 -EBADF);
	ck_assert(!loop_fd_is_watching(&r.w));
	loop_del_fd(&r.w);
}
END_TEST

static unsigned int n_counted;

static void on_ready_count(struct loop_fd *w, uint32_t events)
{
	ck_assert_uint_eq(events, EPOLLIN);
	n_counted++;
	drop_ready(container_of(w, struct ready, w));
}

START_TEST(more_descriptors_than_a_batch)
{
	for (int i = 0; i < 600; i++)
		(void)new_ready('.', on_ready_count);
	for (int i = 0; i < 10; i++)
		turn();
	ck_assert_uint_eq(n_counted, 600);
}
END_TEST

struct tick {
	struct loop_timer t;
	char letter;
	uint64_t again_ms;
	bool is_repeated;
	struct tick *victim;
};

static void on_tick(struct loop_timer *t)
{
	struct tick *k = container_of(t, struct tick, t);

	mark(k->letter);
	ck_assert(!loop_timer_is_set(t));
	if (k->victim) {
		loop_del_timer(&k->victim->t);
		free(k->victim);
		k->victim = NULL;
	}
	if (k->is_repeated)
		ck_assert_int_eq(loop_set_timer(loop, t, k->again_ms, on_tick),
				 0);
}

static void set(struct tick *k, uint64_t after_ms)
{
	ck_assert_int_eq(loop_set_timer(loop, &k->t, after_ms, on_tick), 0);
}

START_TEST(timers_fire_in_order_and_once)
{
	struct tick a = { .letter = 'a' }, b = { .letter = 'b' };
	struct tick c = { .letter = 'c' }, d = { .letter = 'd' };

	clock_set_fake(1000);
	set(&c, 30);
	set(&a, 10);
	set(&d, 30); /* as c, but later set */
	set(&b, 20);
	turn();
	ck_assert_str_eq(trace, "");
	clock_set_fake(1009);
	turn();
	ck_assert_str_eq(trace, "");
	clock_set_fake(1010);
	turn();
	ck_assert_str_eq(trace, "a");
	ck_assert(!loop_timer_is_set(&a.t));
	ck_assert(loop_timer_is_set(&b.t));
	clock_set_fake(9999);
	turn();
	turn();
	ck_assert_str_eq(trace, "abcd");
}
END_TEST

START_TEST(a_timer_can_be_moved_and_removed)
{
	struct tick a = { .letter = 'a' }, b = { .letter = 'b' };

	clock_set_fake(0);
	set(&a, 10);
	set(&b, 20);
	set(&a, 30);
	clock_set_fake(25);
	turn();
	ck_assert_str_eq(trace, "b");
	loop_del_timer(&a.t);
	loop_del_timer(&a.t);
	ck_assert(!loop_timer_is_set(&a.t));
	clock_set_fake(100);
	turn();
	ck_assert_str_eq(trace, "b");
	set(&b, UINT64_MAX);
	turn();
	ck_assert_str_eq(trace, "b");
	loop_del_timer(&b.t);
}
END_TEST

START_TEST(a_timer_may_free_a_timer_that_is_due)
{
	struct tick a = { .letter = 'a' };
	struct tick *b = calloc(1, sizeof(*b));

	ck_assert_ptr_nonnull(b);
	clock_set_fake(0);
	b->letter = 'b';
	a.victim = b;
	set(&a, 5);
	set(b, 5);
	clock_set_fake(5);
	turn();
	turn();
	ck_assert_str_eq(trace, "a");
}
END_TEST

START_TEST(a_timer_set_in_its_callback_waits_for_the_next_turn)
{
	struct tick a = { .letter = 'a', .is_repeated = true };
	struct tick b = { .letter = 'b', .is_repeated = true };

	/* for "now": would never end otherwise */
	clock_set_fake(0);
	set(&a, 0);
	set(&b, 0);
	turn();
	ck_assert_str_eq(trace, "ab");
	turn();
	ck_assert_str_eq(trace, "abab");
	loop_del_timer(&a.t);
	loop_del_timer(&b.t);
}
END_TEST

START_TEST(real_timers_are_not_early)
{
	struct tick a = { .letter = 'a' };

	for (int i = 0; i < 20; i++) {
		uint64_t before = clock_now_ns();

		trace[0] = '\0';
		set(&a, 3);
		/* Half of them with turns all the time, half by waiting. */
		while (!trace[0])
			ck_assert_int_eq(loop_run_once(loop, i % 2 - 1), 0);
		ck_assert_uint_ge(clock_now_ns() - before, 3000000);
	}
}
END_TEST

/* Against a plain model: many timers, set, moved and removed at random. */
START_TEST(many_timers_keep_their_order)
{
	static struct tick k[500];
	static uint64_t due[500]; /* 0: not set */
	uint64_t now = 1;
	unsigned int seed = 4711;

	clock_set_fake(now);
	for (int step = 0; step < 20000; step++) {
		size_t i = (size_t)rand_r(&seed) % ARRAY_SIZE(k);
		uint64_t after = (uint64_t)rand_r(&seed) % 1000;

		if (rand_r(&seed) % 4 == 0) {
			loop_del_timer(&k[i].t);
			due[i] = 0;
		} else {
			k[i].letter = '.';
			set(&k[i], after);
			due[i] = now + after;
		}
		if (step % 50)
			continue;
		now += (uint64_t)rand_r(&seed) % 100;
		clock_set_fake(now);
		trace[0] = '\0';
		for (size_t j = 0; j < ARRAY_SIZE(k); j++)
			if (due[j] && due[j] <= now)
				k[j].letter = '!';
		turn();
		ck_assert_ptr_null(strchr(trace, '.'));
		for (size_t j = 0; j < ARRAY_SIZE(k); j++) {
			if (due[j] && due[j] <= now)
				due[j] = 0;
			ck_assert_int_eq(loop_timer_is_set(&k[j].t),
					 due[j] != 0);
			k[j].letter = '.';
		}
	}
}
END_TEST

struct note {
	struct loop_hook h;
	char letter;
	struct note *victim;
	struct note *add;
};

static void on_hook(struct loop_hook *h)
{
	struct note *n = container_of(h, struct note, h);

	mark(n->letter);
	if (n->victim) {
		struct note *v = n->victim;

		n->victim = NULL;
		loop_del_hook(&v->h);
		memset(v, 0xa5, sizeof(*v));
		free(v);
		return; /* @n may be gone */
	}
	if (n->add)
		loop_add_hook(loop, &n->add->h, on_hook);
	n->add = NULL;
}

static struct note *new_note(char letter)
{
	struct note *n = calloc(1, sizeof(*n));

	ck_assert_ptr_nonnull(n);
	n->letter = letter;
	loop_add_hook(loop, &n->h, on_hook);
	return n;
}

static void drop_note(struct note *n)
{
	loop_del_hook(&n->h);
	loop_del_hook(&n->h);
	free(n);
}

START_TEST(a_turn_is_descriptors_timers_hooks)
{
	struct note *h = new_note('1'), *i = new_note('2');
	struct tick t = { .letter = 't' };
	struct ready *r;

	clock_set_fake(0);
	set(&t, 0);
	r = new_ready('d', on_ready);
	turn();
	ck_assert_str_eq(trace, "dt12");
	turn();
	ck_assert_str_eq(trace, "dt12d12");
	drop_ready(r);
	drop_note(h);
	drop_note(i);
	turn();
	ck_assert_str_eq(trace, "dt12d12");
}
END_TEST

START_TEST(hooks_may_remove_any_hook)
{
	struct note *a = new_note('a'), *b = new_note('b');
	struct note *c = new_note('c'), *d = new_note('d');

	b->victim = c; /* the next one */
	d->victim = a; /* one that was called before */
	turn();
	ck_assert_str_eq(trace, "abd");
	b->victim = b; /* itself */
	turn();
	ck_assert_str_eq(trace, "abdbd");
	turn();
	ck_assert_str_eq(trace, "abdbdd");
	drop_note(d);
}
END_TEST

START_TEST(a_hook_added_by_a_hook_runs_too)
{
	struct note *a = new_note('a');
	struct note b = { .letter = 'b' };

	a->add = &b;
	turn();
	ck_assert_str_eq(trace, "ab");
	turn();
	ck_assert_str_eq(trace, "abab");
	loop_del_hook(&b.h);
	drop_note(a);
}
END_TEST

static void on_tick_stop(struct loop_timer *t)
{
	mark('s');
	loop_stop(t->loop, 42);
}

START_TEST(run_returns_what_stop_was_given)
{
	struct note *h = new_note('h');
	struct loop_timer t = { 0 };

	ck_assert_int_eq(loop_set_timer(loop, &t, 2, on_tick_stop), 0);
	ck_assert_int_eq(loop_run(loop), 42);
	/* hooks run before the first wait and after the last callback */
	ck_assert_int_eq(trace[0], 'h');
	ck_assert_ptr_nonnull(strstr(trace, "sh"));
	/* it can run again */
	ck_assert_int_eq(loop_set_timer(loop, &t, 0, on_tick_stop), 0);
	ck_assert_int_eq(loop_run(loop), 42);
	drop_note(h);
}
END_TEST

/* Owns one watcher of each kind on the heap; the descriptor's comes first. */
struct owner {
	struct loop_fd w;
	struct tick *tick;
	struct note *note;
};

static void on_ready_drop_others(struct loop_fd *w, uint32_t events)
{
	struct owner *o = container_of(w, struct owner, w);

	ck_assert_uint_eq(events, EPOLLIN);
	mark('r');
	loop_del_timer(&o->tick->t);
	free(o->tick);
	drop_note(o->note);
	loop_del_fd(w);
}

START_TEST(a_descriptor_may_remove_timers_and_hooks)
{
	_cleanup_(fd_closep) int fd = eventfd(1, EFD_CLOEXEC);
	struct owner o = { .tick = calloc(1, sizeof(*o.tick)),
			   .note = new_note('h') };

	ck_assert_ptr_nonnull(o.tick);
	clock_set_fake(0);
	set(o.tick, 0);
	ck_assert_int_eq(
		loop_add_fd(loop, &o.w, fd, EPOLLIN, on_ready_drop_others), 0);
	turn();
	turn();
	ck_assert_str_eq(trace, "r");
}
END_TEST

START_TEST(freeing_the_loop_disarms_timers_and_hooks)
{
	struct tick a = { .letter = 'a' };
	struct note *h = new_note('h');

	set(&a, 0);
	loop_freep(&loop);
	ck_assert(!loop_timer_is_set(&a.t));
	loop_del_timer(&a.t);
	drop_note(h);
	loop_free(NULL);
}
END_TEST

struct sig {
	struct loop_fd w;
	struct signalfd_siginfo info;
};

static void on_signal(struct loop_fd *w, uint32_t events)
{
	struct sig *s = container_of(w, struct sig, w);

	ck_assert_uint_eq(events, EPOLLIN);
	ck_assert_int_eq(read(w->fd, &s->info, sizeof(s->info)),
			 sizeof(s->info));
	loop_stop(w->loop, 7);
}

START_TEST(signals_come_by_descriptor)
{
	_cleanup_(fd_closep) int fd = -1;
	struct sig s = { 0 };
	sigset_t set, now;

	ck_assert_int_eq(sigemptyset(&set), 0);
	ck_assert_int_eq(sigaddset(&set, SIGUSR1), 0);
	fd = loop_signalfd(&set);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	ck_assert_int_eq(sigismember(&now, SIGUSR1), 1);
	ck_assert_int_eq(loop_add_fd(loop, &s.w, fd, EPOLLIN, on_signal), 0);
	ck_assert_int_eq(kill(getpid(), SIGUSR1), 0);
	ck_assert_int_eq(loop_run(loop), 7);
	ck_assert_uint_eq(s.info.ssi_signo, SIGUSR1);
	loop_del_fd(&s.w);
}
END_TEST

static void on_exit_of_child(struct loop_fd *w, uint32_t events)
{
	ck_assert_uint_eq(events, EPOLLIN);
	loop_stop(w->loop, 9);
}

START_TEST(children_end_by_descriptor)
{
	_cleanup_(fd_closep) int fd = -1;
	struct loop_fd w = { 0 };
	int hold[2], status;
	pid_t pid;

	ck_assert_int_eq(pipe2(hold, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		char c;

		fd_closep(&hold[1]);
		_exit(read(hold[0], &c, 1) == 0 ? 3 : 4);
	}
	fd = loop_pidfd(pid);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(loop_add_fd(loop, &w, fd, EPOLLIN, on_exit_of_child),
			 0);
	turn(); /* it lives, nothing to tell */
	fd_closep(&hold[1]);
	ck_assert_int_eq(loop_run(loop), 9);
	loop_del_fd(&w);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 3);
	ck_assert_int_eq(loop_pidfd(pid), -ESRCH);
	fd_closep(&hold[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("loop");
	TCase *tc = tcase_create("loop");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_ready_descriptor_is_called_each_turn);
	tcase_add_test(tc, a_watcher_may_remove_and_free_itself);
	tcase_add_test(tc, a_watcher_later_in_the_batch_may_be_freed);
	tcase_add_test(tc, a_reused_number_gets_no_stale_event);
	tcase_add_test(tc, a_paused_watcher_is_not_called_in_the_same_turn);
	tcase_add_test(tc,
		       a_watcher_added_in_a_callback_waits_for_the_next_turn);
	tcase_add_test(tc, hang_up_is_told_and_events_can_change);
	tcase_add_test(tc, bad_descriptors_are_refused);
	tcase_add_test(tc, more_descriptors_than_a_batch);
	tcase_add_test(tc, timers_fire_in_order_and_once);
	tcase_add_test(tc, a_timer_can_be_moved_and_removed);
	tcase_add_test(tc, a_timer_may_free_a_timer_that_is_due);
	tcase_add_test(tc, a_timer_set_in_its_callback_waits_for_the_next_turn);
	tcase_add_test(tc, real_timers_are_not_early);
	tcase_add_test(tc, many_timers_keep_their_order);
	tcase_add_test(tc, a_turn_is_descriptors_timers_hooks);
	tcase_add_test(tc, hooks_may_remove_any_hook);
	tcase_add_test(tc, a_hook_added_by_a_hook_runs_too);
	tcase_add_test(tc, run_returns_what_stop_was_given);
	tcase_add_test(tc, a_descriptor_may_remove_timers_and_hooks);
	tcase_add_test(tc, freeing_the_loop_disarms_timers_and_hooks);
	tcase_add_test(tc, signals_come_by_descriptor);
	tcase_add_test(tc, children_end_by_descriptor);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
