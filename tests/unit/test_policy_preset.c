/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_preset.c - sets of presets, and entries that name them */
#include <stdlib.h>

#include "policy/preset.h"
#include "tests/unit/policy_tools.h"

static struct preset_set *new_set(void)
{
	struct preset_set *s = NULL;

	ck_assert_int_eq(preset_set_new(&s), 0);
	return s;
}

static void add(struct preset_set *s, const char *name, const char *text)
{
	char source[PRESET_NAME_MAX + 8];

	(void)snprintf(source, sizeof(source), "/p/%s.hosts", name);
	ck_assert_int_eq(preset_set_add(s, name, source, text, strlen(text)),
			 0);
}

static const struct preset *find(const struct preset_set *s, const char *name)
{
	return preset_set_find(s, name, strlen(name));
}

/* ---- the set ---- */

START_TEST(built_in_ones_are_complete)
{
	_cleanup_(preset_set_freep) struct preset_set *s = new_set();
	const struct preset *p = preset_set_at(s, (size_t)_i);
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *policy = NULL;
	const struct policy_error *e;
	struct preset_info info;
	size_t n;

	ck_assert(p->is_builtin);
	ck_assert_ptr_null(p->broken);
	preset_info(p, &info);
	ck_assert_msg(info.title[0] && info.about[0] && info.n_sources > 0 &&
			      info.uploads_why[0],
		      "%s: title, about, source, uploads", p->name);
	ck_assert_msg(memmem(p->text, p->len, "# uploads: ", 11), "%s",
		      p->name);
	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_text(b, p->source, p->text, p->len),
			 0);
	e = policy_builder_errors(b, &n);
	ck_assert_msg(n == 0, "%s: %s", p->name, n ? e[0].msg : "");
	ck_assert_int_eq(policy_build(b, &policy), 0);
	ck_assert_uint_gt(policy_n_written(policy), 0);
}
END_TEST

START_TEST(built_in_ones_are_found)
{
	static const char *const names[] = {
		"pypi",	   "conda",	  "cran",   "bioconductor",
		"npm",	   "huggingface", "github", "ncbi",
		"ensembl", "uniprot",	  "ebi",    "claude-code",
	};
	_cleanup_(preset_set_freep) struct preset_set *s = new_set();
	struct preset_info info;

	ck_assert_uint_eq(preset_set_n(s), 54);
	for (size_t i = 1; i < preset_set_n(s); i++)
		ck_assert_int_lt(strcmp(preset_set_at(s, i - 1)->name,
					preset_set_at(s, i)->name),
				 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ck_assert_msg(find(s, names[i]), "%s", names[i]);
	ck_assert_ptr_eq(find(s, "PyPI"), find(s, "pypi"));
	ck_assert_ptr_null(find(s, "pyp"));
	ck_assert_ptr_null(find(s, ""));
	ck_assert_ptr_null(find(s, "../pypi"));
	ck_assert_str_eq(find(s, "pypi")->source, "built-in pypi.hosts");
	preset_info(find(s, "pypi"), &info);
	ck_assert_str_eq(info.title, "PyPI");
	ck_assert(!info.uploads);
	preset_info(find(s, "npm"), &info);
	ck_assert(info.uploads);
	ck_assert_ptr_nonnull(strstr(info.uploads_why, "npm publish"));
}
END_TEST

START_TEST(comments_are_read)
{
	static const char text[] = "# title:  A \x1b[2J title \r\n"
				   "#about: x\n"
				   "#\n"
				   "# other: ignored\n"
				   "# uploads: no\n"
				   "# note: 1\n# note: 2\n# note: 3\n"
				   "# note: 4\n# note: 5\n# note: 6\n"
				   "# note: 7\n# note: 8\n# note: 9\n"
				   "a.test\n"
				   "# title: too late\n";
	_cleanup_(preset_set_freep) struct preset_set *s = new_set();
	char long_line[2 * PRESET_LINE_LEN] = "# title: ";
	struct preset_info info;

	add(s, "x", text);
	preset_info(find(s, "x"), &info);
	ck_assert_str_eq(info.title, "A \\x1b[2J title");
	ck_assert_str_eq(info.about, "x");
	ck_assert(!info.uploads);
	ck_assert_str_eq(info.uploads_why, "");
	ck_assert_uint_eq(info.n_notes, PRESET_NOTES_MAX);
	ck_assert_str_eq(info.note[7], "8");
	ck_assert_uint_eq(info.n_sources, 0);

	/* What doesn't say counts as one that does. */
	add(s, "x", "a.test\n");
	preset_info(find(s, "x"), &info);
	ck_assert(info.uploads);
	ck_assert_str_eq(info.uploads_why, "");
	add(s, "x", "# uploads: yes: always");
	preset_info(find(s, "x"), &info);
	ck_assert(info.uploads);
	ck_assert_str_eq(info.uploads_why, "always");

	memset(long_line + strlen(long_line), 'a',
	       sizeof(long_line) - strlen(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	add(s, "x", long_line);
	preset_info(find(s, "x"), &info);
	ck_assert_uint_eq(strlen(info.title), PRESET_LINE_LEN - 1);
}
END_TEST

START_TEST(a_set_is_added_to)
{
	_cleanup_(preset_set_freep) struct preset_set *s = new_set();
	_cleanup_(freep) char *big = calloc(1, PRESET_TEXT_MAX + 1);
	size_t n = preset_set_n(s);
	char name[16];

	add(s, "PyPI", "mirror.test");
	ck_assert_uint_eq(preset_set_n(s), n);
	ck_assert_str_eq(find(s, "pypi")->source, "/p/PyPI.hosts");
	ck_assert(!find(s, "pypi")->is_builtin);
	add(s, "aa", "");
	ck_assert_str_eq(preset_set_at(s, 0)->name, "aa");
	ck_assert_int_eq(preset_set_add(s, "a b", "s", "", 0), -EINVAL);
	ck_assert_int_eq(preset_set_add(s, "", "s", "", 0), -EINVAL);
	ck_assert_ptr_nonnull(big);
	ck_assert_int_eq(preset_set_add(s, "a", "s", big, PRESET_TEXT_MAX + 1),
			 -E2BIG);
	ck_assert_int_eq(preset_set_add_broken(s, "npm", "/p/npm", "why"), 0);
	ck_assert_str_eq(find(s, "npm")->broken, "why");
	for (size_t i = preset_set_n(s); i < PRESETS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x%zu", i);
		add(s, name, "");
	}
	ck_assert_int_eq(preset_set_add(s, "one-more", "s", "", 0), -E2BIG);
	add(s, "aa", "a.test"); /* no more, but another */
	preset_set_free(NULL);
}
END_TEST

static const struct {
	const char *name, *near;
} nears[] = {
	{ "pipy", "pypi" },
	{ "pypy", "pypi" },
	{ "PYP1", "pypi" },
	{ "git-hub", "github" },
	{ "hugginface", "huggingface" },
	{ "docker", "dockerhub" },
	{ "debian-security", "debian" },
	{ "npn", "npm" },
	{ "unrelated", "" },
	{ "a:b", "" },
	{ "xy", "" },
	{ "claudecode", "claude-code" },
};

START_TEST(near_names_are_found)
{
	_cleanup_(preset_set_freep) struct preset_set *s = new_set();
	const char *ret[2];
	size_t n = preset_set_near(s, nears[_i].name, strlen(nears[_i].name),
				   ret, 2);

	ck_assert_str_eq(n ? ret[0] : "", nears[_i].near);
}
END_TEST

/* ---- entries ---- */

/* Of a text with these presets: x allows a.test, 11.0.0.1 and a.test:22. */
struct fixture {
	struct preset_set *set;
	struct policy_builder *b;
	struct policy *p;
};

static void fixture_done(struct fixture *f)
{
	policy_free(f->p);
	policy_builder_free(f->b);
	preset_set_free(f->set);
}

static const char x_text[] = "# title: X\n"
			     "# uploads: yes - by post\n"
			     "a.test\n"
			     "11.0.0.1:9 # addr\n"
			     "  c.test:22\n"
			     "!bad.a.test\n";

static void build(struct fixture *f, const char *text)
{
	f->set = new_set();
	add(f->set, "x", x_text);
	add(f->set, "all", "*\nb.test private");
	add(f->set, "nested", "a.test\n @x\n");
	add(f->set, "bad", "a.test\n\nb.test:0\n c..test\n");
	ck_assert_int_eq(preset_set_add_broken(f->set, "gone", "/p/gone.hosts",
					       "the dog ate it"),
			 0);
	ck_assert_int_eq(policy_builder_new(&f->b), 0);
	policy_builder_set_presets(f->b, f->set);
	ck_assert_int_eq(
		policy_builder_add_text(f->b, "list", text, strlen(text)), 0);
	(void)policy_build(f->b, &f->p);
}

static struct policy_verdict judge(const struct policy *p, const char *name,
				   uint16_t port)
{
	struct dnsname n = name_of(name);

	return policy_judge_name_port(p, &n, POLICY_TCP, port);
}

START_TEST(a_preset_opens_its_entries)
{
	_cleanup_(fixture_done) struct fixture f = { 0 };
	struct policy_verdict v;
	struct policy_entry e;
	struct addr a = addr_of("11.0.0.1");

	build(&f, "z.test\n\n  @X  # all of it\n");
	ck_assert_ptr_nonnull(f.p);
	ck_assert_uint_eq(policy_n_written(f.p), 2);
	ck_assert_uint_eq(policy_n_entries(f.p), 6);
	v = judge(f.p, "c.test", 22);
	ck_assert_int_eq(v.reason, POLICY_ALLOWED);
	e = policy_entry(f.p, v.entry);
	ck_assert_str_eq(e.source, "list");
	ck_assert_str_eq(e.text, "@X");
	ck_assert_uint_eq(e.line, 3);
	ck_assert_uint_eq(e.column, 3);
	ck_assert_str_eq(e.preset_source, "/p/x.hosts");
	ck_assert_str_eq(e.preset_text, "c.test:22");
	ck_assert_uint_eq(e.preset_line, 5);
	ck_assert_uint_eq(e.preset, 1);
	ck_assert(!e.deny);
	e = policy_entry(f.p, e.preset);
	ck_assert_str_eq(e.text, "@X");
	ck_assert_ptr_null(e.preset_text);
	ck_assert_uint_eq(e.preset, POLICY_NO_ENTRY);

	ck_assert_int_eq(judge(f.p, "a.test", 443).reason, POLICY_ALLOWED);
	ck_assert_int_eq(judge(f.p, "z.test", 443).reason, POLICY_ALLOWED);
	ck_assert_int_eq(judge(f.p, "a.test", 22).reason, POLICY_PORT);
	ck_assert_int_eq(policy_judge_addr(f.p, &a, POLICY_TCP, 9).reason,
			 POLICY_ALLOWED);
	v = judge(f.p, "bad.a.test", 443);
	ck_assert_int_eq(v.reason, POLICY_DENIED);
	ck_assert(policy_entry(f.p, v.entry).deny);
}
END_TEST

START_TEST(a_preset_is_denied)
{
	_cleanup_(fixture_done) struct fixture f = { 0 };
	struct policy_verdict v;
	struct policy_entry e;
	struct addr a = addr_of("11.0.0.1");

	/* "all" has a word, which denying drops. */
	build(&f, "*:*\na.test:25\n!@x\n11.0.0.1:*\nb.test\n!@all\n");
	ck_assert_ptr_nonnull(f.p);
	v = judge(f.p, "a.test", 25);
	ck_assert_int_eq(v.reason, POLICY_DENIED);
	e = policy_entry(f.p, v.entry);
	ck_assert_str_eq(e.text, "!@x");
	ck_assert_uint_eq(e.line, 3);
	ck_assert(e.deny);
	ck_assert_str_eq(e.preset_text, "a.test");
	ck_assert_int_eq(judge(f.p, "c.test", 22).reason, POLICY_DENIED);
	ck_assert_int_eq(policy_judge_addr(f.p, &a, POLICY_TCP, 9).reason,
			 POLICY_DENIED);
	ck_assert_int_eq(judge(f.p, "b.test", 443).reason, POLICY_DENIED);
	ck_assert_int_eq(judge(f.p, "q.test", 443).reason, POLICY_DENIED);
}
END_TEST

START_TEST(words_are_lent)
{
	_cleanup_(fixture_done) struct fixture f = { 0 };

	build(&f, "@all private unchecked\n@x srv\n");
	ck_assert_ptr_nonnull(f.p);
	ck_assert_uint_eq(judge(f.p, "b.test", 443).flags,
			  POLICY_F_PRIVATE | POLICY_F_UNCHECKED);
	/* '*' never opens private addresses. */
	ck_assert_uint_eq(judge(f.p, "q.test", 443).flags, POLICY_F_UNCHECKED);
	ck_assert_uint_eq(judge(f.p, "c.test", 22).flags, POLICY_F_SRV);
}
END_TEST

static const struct {
	const char *text;
	const char *errors[3]; /* beginnings of the lines, in order */
} errors[] = {
	{ "a.test\n  @y\n",
	  { "list:2:3: there is no preset '@y'; 'egret presets' lists them" } },
	{ "@xx", { "list:1:1: there is no preset '@xx'; @x may have been" } },
	{ "!@ALLL",
	  { "list:1:2: there is no preset '@ALLL'; @all may have been "
	    "meant" } },
	{ "@gone",
	  { "list:1:1: the preset '@gone' can't be used: the dog ate it" } },
	{ "@nested",
	  { "/p/nested.hosts:2:2: a preset can't contain another preset" } },
	{ "@bad\nok.test\n@BAD\n!@bad\n",
	  { "/p/bad.hosts:3:8: port 0 is not a port",
	    "/p/bad.hosts:4:4: an empty label" } },
	{ "!@bad\nq.test:0\n",
	  { "/p/bad.hosts:3:8: port 0", "/p/bad.hosts:4:4: an empty label",
	    "list:2:8: port 0 is not" } },
};

START_TEST(errors_have_their_place)
{
	_cleanup_(fixture_done) struct fixture f = { 0 };
	const struct policy_error *e;
	char line[512];
	size_t n;

	build(&f, errors[_i].text);
	ck_assert_ptr_null(f.p);
	e = policy_builder_errors(f.b, &n);
	for (size_t i = 0; i < ARRAY_SIZE(errors[0].errors); i++) {
		const char *want = errors[_i].errors[i];

		if (!want) {
			ck_assert_uint_eq(n, i);
			return;
		}
		ck_assert_uint_gt(n, i);
		(void)policy_error_format(&e[i], line, sizeof(line));
		ck_assert_msg(strncmp(line, want, strlen(want)) == 0, "%s",
			      line);
	}
	ck_assert_uint_eq(n, ARRAY_SIZE(errors[0].errors));
}
END_TEST

START_TEST(the_command_line_has_presets)
{
	_cleanup_(policy_builder_freep) struct policy_builder *b = NULL;
	_cleanup_(policy_freep) struct policy *p = NULL;

	ck_assert_int_eq(policy_builder_new(&b), 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "--allow", "@pypi", false),
			 0);
	ck_assert_int_eq(policy_builder_add_entry(b, "--deny", "@github", true),
			 0);
	ck_assert_int_eq(policy_build(b, &p), 0);
	ck_assert_int_eq(judge(p, "files.pythonhosted.org", 443).reason,
			 POLICY_ALLOWED);
	ck_assert_int_eq(judge(p, "upload.pypi.org", 443).reason,
			 POLICY_NOT_LISTED);
	ck_assert_int_eq(judge(p, "api.github.com", 22).reason, POLICY_DENIED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("policy_preset");
	TCase *t = tcase_create("preset");

	tcase_add_loop_test(t, built_in_ones_are_complete, 0, 54);
	tcase_add_test(t, built_in_ones_are_found);
	tcase_add_test(t, comments_are_read);
	tcase_add_test(t, a_set_is_added_to);
	tcase_add_loop_test(t, near_names_are_found, 0, ARRAY_SIZE(nears));
	tcase_add_test(t, a_preset_opens_its_entries);
	tcase_add_test(t, a_preset_is_denied);
	tcase_add_test(t, words_are_lent);
	tcase_add_loop_test(t, errors_have_their_place, 0, ARRAY_SIZE(errors));
	tcase_add_test(t, the_command_line_has_presets);
	suite_add_tcase(s, t);
	return run_suite(s);
}
