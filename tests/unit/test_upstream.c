/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_upstream.c - c-ares in the loop, against servers on loopback
 *
 * What a server does is in the first label of the name it is asked for.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "resolver/upstream_internal.h"
#include "tests/unit/resolver_lab.h"

#define TURNS_MAX   3000
#define ANSWERS_MAX 128

struct server {
	struct loop *loop;
	struct loop_fd udp, listener, tcp;
	struct sockaddr_in addr;
	unsigned int n_udp, n_tcp, n_edns;
	bool is_deaf;
};

struct answer_seen {
	bool is_done;
	int error;
	size_t len;
	uint8_t msg[WIRE_MSG_MAX];
};

static void write_addresses(char *dst, size_t size, const char *name,
			    unsigned int n)
{
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at += (size_t)snprintf(dst + at, size - at,
				       "%s 60 A 11.1.%u.%u\n", name, i / 250,
				       i % 250 + 1);
}

/* The answer to @query, or 0 for silence. */
static size_t serve(struct server *s, const uint8_t *query, size_t len,
		    bool tcp, uint8_t *dst, size_t size)
{
	static char text[1 << 16];
	struct wire_reader r = { .msg = query, .len = len };
	char name[DNSNAME_STR_LEN];
	struct wire_header h;
	struct dnsname n;
	uint16_t qtype;
	size_t out;

	ck_assert_int_eq(wire_read_header(&r, &h), 0);
	ck_assert_int_eq(wire_read_name(&r, &n), 0);
	ck_assert_int_eq(wire_read_u16(&r, &qtype), 0);
	ck_assert_uint_eq(h.flags, WIRE_FLAG_RD);
	s->n_edns += h.n_ar;
	(void)dnsname_format(&n, name);
	if (!strncmp(name, "silent", 6) || s->is_deaf)
		return 0;
	write_addresses(text, sizeof(text), name,
			strncmp(name, "big", 3) ? 2 : 1000);
	out = lab_message(dst, size, &n, qtype,
			  !strncmp(name, "none", 4)   ? WIRE_NXDOMAIN
			  : !strncmp(name, "fail", 4) ? WIRE_SERVFAIL
			  : !strncmp(name, "noedns", 6) && h.n_ar ? WIRE_FORMERR
								  : 0,
			  text);
	wire_put16(dst, h.id);
	if (!tcp && out > 1232) {
		dst[2] |= WIRE_FLAG_TC >> 8;
		out = 512;
	}
	return out;
}

static void on_udp(struct loop_fd *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, udp);
	static uint8_t out[WIRE_MSG_MAX];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint8_t buf[1024];
	ssize_t n = recvfrom(w->fd, buf, sizeof(buf), MSG_DONTWAIT,
			     (struct sockaddr *)&from, &from_len);
	size_t len;

	(void)events;
	if (n < 0)
		return;
	s->n_udp++;
	len = serve(s, buf, (size_t)n, false, out, sizeof(out));
	if (len)
		ck_assert_int_eq(sendto(w->fd, out, len, 0,
					(struct sockaddr *)&from, from_len),
				 (int)len);
}

static void on_tcp(struct loop_fd *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, tcp);
	static uint8_t out[2 + WIRE_MSG_MAX];
	uint8_t buf[1024];
	ssize_t n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT);
	size_t len;

	(void)events;
	if (n <= 2) {
		loop_del_fd(w);
		(void)close(w->fd);
		return;
	}
	s->n_tcp++;
	len = serve(s, buf + 2, (size_t)n - 2, true, out + 2, WIRE_MSG_MAX);
	wire_put16(out, (uint16_t)len);
	ck_assert_int_eq(send(w->fd, out, len + 2, 0), (int)len + 2);
}

static void on_connect(struct loop_fd *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, listener);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(loop_add_fd(s->loop, &s->tcp, fd, EPOLLIN, on_tcp), 0);
}

static struct server *server_new(struct loop *loop)
{
	struct server *s = calloc(1, sizeof(*s));
	socklen_t len = sizeof(s->addr);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	s->loop = loop;
	s->addr.sin_family = AF_INET;
	s->addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(udp, (struct sockaddr *)&s->addr, len), 0);
	ck_assert_int_eq(getsockname(udp, (struct sockaddr *)&s->addr, &len),
			 0);
	ck_assert_int_eq(bind(tcp, (struct sockaddr *)&s->addr, len), 0);
	ck_assert_int_eq(listen(tcp, 8), 0);
	ck_assert_int_eq(loop_add_fd(loop, &s->udp, udp, EPOLLIN, on_udp), 0);
	ck_assert_int_eq(
		loop_add_fd(loop, &s->listener, tcp, EPOLLIN, on_connect), 0);
	return s;
}

static void server_free(struct server *s)
{
	(void)close(s->udp.fd);
	(void)close(s->listener.fd);
	if (loop_fd_is_watching(&s->tcp))
		(void)close(s->tcp.fd);
	loop_del_fd(&s->udp);
	loop_del_fd(&s->listener);
	loop_del_fd(&s->tcp);
	free(s);
}

struct set {
	struct loop *loop;
	struct server *a, *b;
	struct upstream *u;
	char servers[64];
	struct answer_seen *seen;
	size_t n_seen;
};

static struct set *set_new(bool two)
{
	struct set *s = calloc(1, sizeof(*s));
	struct upstream_config cfg = { .timeout_ms = 100, .tries = 2 };

	ck_assert_int_eq(loop_new(&s->loop, NULL), 0);
	s->seen = calloc(ANSWERS_MAX, sizeof(*s->seen));
	s->a = server_new(s->loop);
	s->b = two ? server_new(s->loop) : NULL;
	(void)snprintf(s->servers, sizeof(s->servers),
		       two ? "127.0.0.1:%u,127.0.0.1:%u" : "127.0.0.1:%u",
		       ntohs(s->a->addr.sin_port),
		       two ? ntohs(s->b->addr.sin_port) : 0);
	cfg.servers = s->servers;
	ck_assert_int_eq(upstream_new_config(&s->u, s->loop, &cfg, NULL), 0);
	return s;
}

static void set_free(struct set *s)
{
	upstream_free(s->u);
	server_free(s->a);
	if (s->b)
		server_free(s->b);
	loop_free(s->loop);
	free(s->seen);
	free(s);
}

static void on_answer(void *arg, int error, const uint8_t *msg, size_t len)
{
	struct answer_seen *a = arg;

	ck_assert(!a->is_done);
	a->is_done = true;
	a->error = error;
	a->len = len;
	if (len)
		memcpy(a->msg, msg, len);
}

static struct answer_seen *ask(struct set *s, const char *name)
{
	struct answer_seen *a = &s->seen[s->n_seen++];
	struct dnsname n = lab_name(name);

	upstream_ask(s->u, &n, WIRE_A, on_answer, a);
	return a;
}

static void turn_until_done(struct set *s, const struct answer_seen *a)
{
	for (unsigned int i = 0; i < TURNS_MAX && !a->is_done; i++)
		ck_assert_int_ge(loop_run_once(s->loop, 5), 0);
	ck_assert(a->is_done);
}

static unsigned int n_answers(const struct answer_seen *a)
{
	return a->len > 8 ? wire_get16(a->msg + 6) : 0;
}

START_TEST(test_answer)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "good.test");

	turn_until_done(s, a);
	ck_assert_int_eq(a->error, 0);
	ck_assert_uint_eq(n_answers(a), 2);
	ck_assert_uint_eq(s->a->n_udp, 1);
	ck_assert_uint_eq(s->a->n_edns, 1);
	set_free(s);
}
END_TEST

START_TEST(test_no_such_name_is_an_answer)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "none.test");

	turn_until_done(s, a);
	ck_assert_int_eq(a->error, 0);
	ck_assert_uint_eq(WIRE_RCODE(wire_get16(a->msg + 2)), WIRE_NXDOMAIN);
	set_free(s);
}
END_TEST

START_TEST(test_truncated_comes_by_tcp)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "big.test");

	turn_until_done(s, a);
	ck_assert_int_eq(a->error, 0);
	ck_assert_uint_eq(n_answers(a), 1000);
	ck_assert_uint_eq(s->a->n_tcp, 1);
	set_free(s);
}
END_TEST

START_TEST(test_silence_is_a_timeout)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "silent.test");

	turn_until_done(s, a);
	ck_assert_int_eq(a->error, -ETIMEDOUT);
	ck_assert_uint_eq(s->a->n_udp, 2);
	set_free(s);
}
END_TEST

START_TEST(test_failure_is_an_error)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "fail.test");

	turn_until_done(s, a);
	ck_assert(a->error < 0 ||
		  WIRE_RCODE(wire_get16(a->msg + 2)) == WIRE_SERVFAIL);
	set_free(s);
}
END_TEST

START_TEST(test_server_without_edns)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "noedns.test");

	turn_until_done(s, a);
	ck_assert_int_eq(a->error, 0);
	ck_assert_uint_eq(n_answers(a), 2);
	set_free(s);
}
END_TEST

START_TEST(test_second_server)
{
	struct set *s = set_new(true);
	struct answer_seen *a;

	s->a->is_deaf = true;
	a = ask(s, "good.test");
	turn_until_done(s, a);
	ck_assert_int_eq(a->error, 0);
	ck_assert_uint_eq(s->b->n_udp, 1);
	set_free(s);
}
END_TEST

/* One slow question holds no other up. */
START_TEST(test_many_at_once)
{
	struct set *s = set_new(false);
	struct answer_seen *slow = ask(s, "silent.test"), *a[60];

	for (unsigned int i = 0; i < ARRAY_SIZE(a); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%u.test", i);
		a[i] = ask(s, name);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(a); i++) {
		turn_until_done(s, a[i]);
		ck_assert_int_eq(a[i]->error, 0);
	}
	turn_until_done(s, slow);
	set_free(s);
}
END_TEST

START_TEST(test_end_cancels)
{
	struct set *s = set_new(false);
	struct answer_seen *a = ask(s, "silent.test");
	struct answer_seen seen;

	upstream_freep(&s->u);
	seen = *a;
	ck_assert(seen.is_done);
	ck_assert_int_eq(seen.error, -ECANCELED);
	set_free(s);
}
END_TEST

/* A query under way at a reload still gets its answer; then its channel goes.
 */
START_TEST(test_reload)
{
	struct set *s = set_new(false);
	struct answer_seen *old = ask(s, "good.test"), *new;

	ck_assert_int_eq(upstream_reload(s->u, NULL), 0);
	ck_assert_uint_eq(upstream_n_channels(s->u), 2);
	new = ask(s, "other.test");
	turn_until_done(s, old);
	turn_until_done(s, new);
	ck_assert_int_eq(old->error, 0);
	ck_assert_int_eq(new->error, 0);
	for (unsigned int i = 0; i < 10; i++)
		ck_assert_int_ge(loop_run_once(s->loop, 1), 0);
	ck_assert_uint_eq(upstream_n_channels(s->u), 1);
	/* Without a query under way the old one goes at once. */
	ck_assert_int_eq(upstream_reload(s->u, NULL), 0);
	for (unsigned int i = 0; i < 10; i++)
		ck_assert_int_ge(loop_run_once(s->loop, 1), 0);
	ck_assert_uint_eq(upstream_n_channels(s->u), 1);
	set_free(s);
}
END_TEST

START_TEST(test_host_configuration)
{
	struct upstream *u = NULL;
	struct loop *loop = NULL;

	ck_assert_int_eq(loop_new(&loop, NULL), 0);
	ck_assert_int_eq(upstream_new(&u, loop, NULL), 0);
	upstream_free(u);
	loop_free(loop);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("upstream");
	TCase *t = tcase_create("all");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_answer);
	tcase_add_test(t, test_no_such_name_is_an_answer);
	tcase_add_test(t, test_truncated_comes_by_tcp);
	tcase_add_test(t, test_silence_is_a_timeout);
	tcase_add_test(t, test_failure_is_an_error);
	tcase_add_test(t, test_server_without_edns);
	tcase_add_test(t, test_second_server);
	tcase_add_test(t, test_many_at_once);
	tcase_add_test(t, test_end_cancels);
	tcase_add_test(t, test_reload);
	tcase_add_test(t, test_host_configuration);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
