/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_control.c - a line on the control socket; and any text in a reply must
 * come out as JSON
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gateway/control_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct control_request *rq)
{
	const struct policy_question *q = &rq->question;
	char text[POLICY_QUESTION_STR_LEN];
	struct policy_question again;

	if (rq->op >= CONTROL_OP_MAX)
		abort();
	if (rq->op != CONTROL_CHECK)
		return;
	if (!q->addr.family == !q->name.len || q->proto >= POLICY_PROTO_MAX ||
	    !q->port != (q->proto == POLICY_ICMP))
		abort();
	/* What is printed means the same. A label may hold octets that no
	   printed host can, but the parser of entries lets none in. */
	(void)policy_question_format(q, text);
	if (policy_question_parse(text, &again, NULL) < 0 ||
	    again.port != q->port || again.proto != q->proto ||
	    !addr_equal(&again.addr, &q->addr) ||
	    (q->name.len && !dnsname_equal(&again.name, &q->name)))
		abort();
}

static void check_reply(const char *text)
{
	struct control_text t = { .v = NULL };
	json_t *o;

	control_open_object(&t, NULL);
	control_put_bool(&t, "ok", true);
	control_put_str(&t, "text", text);
	control_open_array(&t, text);
	control_put_num(&t, NULL, INT64_MAX);
	control_put_str(&t, NULL, text);
	control_close(&t);
	control_close(&t);
	if (t.is_bad || t.depth || memchr(t.v, '\n', t.len))
		abort();
	o = json_loadb(t.v, t.len, 0, NULL);
	if (!o)
		abort();
	json_decref(o);
	control_text_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_request rq;
	struct err err = { 0 };
	char *text;

	if (size > CONTROL_REQUEST_MAX)
		return 0;
	text = malloc(size + 1);
	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (control_decode((const char *)data, size, &rq, &err) == 0)
		check_request(&rq);
	else if (!err.msg[0])
		abort();
	check_reply(text);
	free(text);
	return 0;
}
