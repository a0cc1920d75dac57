/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suffixes.c - names that many strangers share
 *
 * A short list of what is met in allowlists, not the Public Suffix List: that
 * one changes every week and lacks many content networks. Generic rules stand
 * in for most of it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "policy/lint_internal.h"

#define BUCKETS	  "every customer's storage buckets"
#define STRANGERS "the sites of every customer"
#define PAGES	  "pages that any user can publish"
#define TUNNELS	  "tunnels to machines of anyone"
#define INTAKE	  "every customer's intake of telemetry"
#define PACKAGES  "packages that any user can publish"

static const struct {
	const char *name;
	const char *opens; /* a wildcard for it, or for a name above it */
} tenants[] = {
	{ "amazonaws.com", "every AWS customer's buckets and servers" },
	{ "on.aws", STRANGERS },
	{ "awsapprunner.com", STRANGERS },
	{ "elasticbeanstalk.com", STRANGERS },
	{ "cloudfront.net", STRANGERS },
	{ "googleapis.com", "every bucket of Google Cloud, Drive, Gmail and "
			    "more" },
	{ "googleusercontent.com", "content of any user" },
	{ "appspot.com", STRANGERS },
	{ "run.app", STRANGERS },
	{ "cloudfunctions.net", STRANGERS },
	{ "web.app", STRANGERS },
	{ "firebaseapp.com", STRANGERS },
	{ "firebaseio.com", "every customer's database" },
	{ "pkg.dev", "the package repositories of every customer" },
	{ "blob.core.windows.net", BUCKETS },
	{ "azurecr.io", "the container registries of every customer" },
	{ "azureedge.net", STRANGERS },
	{ "azurefd.net", STRANGERS },
	{ "azurewebsites.net", STRANGERS },
	{ "cloudapp.azure.com", "every customer's servers" },
	{ "trafficmanager.net", STRANGERS },
	{ "sharepoint.com", STRANGERS },
	{ "r2.cloudflarestorage.com", BUCKETS },
	{ "r2.dev", BUCKETS },
	{ "workers.dev", STRANGERS },
	{ "pages.dev", STRANGERS },
	{ "trycloudflare.com", TUNNELS },
	{ "digitaloceanspaces.com", BUCKETS },
	{ "ondigitalocean.app", STRANGERS },
	{ "backblazeb2.com", BUCKETS },
	{ "wasabisys.com", BUCKETS },
	{ "linodeobjects.com", BUCKETS },
	{ "fastly.net", STRANGERS },
	{ "akamaized.net", STRANGERS },
	{ "akamaihd.net", STRANGERS },
	{ "edgekey.net", STRANGERS },
	{ "edgesuite.net", STRANGERS },
	{ "b-cdn.net", STRANGERS },
	{ "netlify.app", STRANGERS },
	{ "vercel.app", STRANGERS },
	{ "herokuapp.com", STRANGERS },
	{ "fly.dev", STRANGERS },
	{ "onrender.com", STRANGERS },
	{ "deno.dev", STRANGERS },
	{ "repl.co", STRANGERS },
	{ "replit.app", STRANGERS },
	{ "glitch.me", STRANGERS },
	{ "myshopify.com", STRANGERS },
	{ "github.io", PAGES },
	{ "gitlab.io", PAGES },
	{ "hf.space", STRANGERS },
	{ "readthedocs.io", PAGES },
	{ "surge.sh", PAGES },
	{ "blogspot.com", PAGES },
	{ "wordpress.com", PAGES },
	{ "githubusercontent.com", "content of any user, gists among it" },
	{ "ngrok.io", TUNNELS },
	{ "ngrok.app", TUNNELS },
	{ "ngrok-free.app", TUNNELS },
	{ "sentry.io", INTAKE },
	{ "datadoghq.com", INTAKE },
	{ "packagecloud.io", PACKAGES },
	{ "r-universe.dev", PACKAGES },
	{ "sourceforge.net", PACKAGES },
};

static const struct {
	const char *name;
	const char *serves;
} shared[] = {
	{ "storage.googleapis.com", "the buckets of every customer" },
	{ "gist.github.com", "gists, which anyone can write and read" },
	{ "gist.githubusercontent.com", "gists of any user" },
	{ "raw.githubusercontent.com", "the public files of any user" },
	{ "keyserver.ubuntu.com", "keys that anyone can upload and read" },
	{ "ppa.launchpadcontent.net", "packages of any user" },
	{ "aur.archlinux.org", "build scripts of any user" },
	{ "esm.sh", "every package of npm and every repository of GitHub" },
	{ "cdn.jsdelivr.net", "every package of npm and every repository of "
			      "GitHub" },
};

/* Top-level names that nobody can register names below. */
static const char *const own_tops[] = {
	"test", "example", "internal", "local",	  "localhost", "invalid",
	"lan",	"home",	   "corp",     "private", "intranet",
};

/* Of a country: *.co.uk, *.com.au. */
static const char *const second_levels[] = { "ac",  "co",  "com", "edu",
					     "go",  "gob", "gov", "ne",
					     "net", "nom", "or",  "org" };

static bool is_one_of(const char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

bool suffix_is_public(const struct dnsname *n)
{
	char text[DNSNAME_STR_LEN];
	char *dot;

	(void)dnsname_format(n, text);
	dot = strchr(text, '.');
	switch (dnsname_labels(n)) {
	case 1:
		return !is_one_of(own_tops, ARRAY_SIZE(own_tops), text);
	case 2:
		if (!dot || strlen(dot + 1) != 2)
			return false;
		*dot = '\0';
		return is_one_of(second_levels, ARRAY_SIZE(second_levels),
				 text);
	default:
		return false;
	}
}

/* "a.b.c" and "b.c"; both in small letters. */
static bool is_below(const char *name, const char *above)
{
	size_t len = strlen(name), tail = strlen(above);

	return len > tail && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, above) == 0;
}

/* us-west-2 */
static bool is_region(const char *label, size_t len)
{
	size_t dashes = 0;

	for (size_t i = 0; i < len; i++)
		dashes += label[i] == '-';
	return dashes >= 2 && label[len - 1] >= '0' && label[len - 1] <= '9';
}

/*
 * Below amazonaws.com names grow to the left, NAME.SERVICE.REGION: a wildcard
 * for a service or a region is one for all customers, one for a name isn't.
 */
static bool is_aws_service(const char *text)
{
	static const char *const services[] = {
		"execute-api", "elb", "compute",       "lambda-url",
		"s3-website",  "rds", "cache",	       "es",
		"s3",	       "ec2", "s3-accelerate", "s3-accesspoint",
		"dualstack",
	};
	size_t len = strcspn(text, ".");
	char label[DNSNAME_LABEL_MAX + 1];

	if (!is_below(text, "amazonaws.com") || len >= sizeof(label))
		return false;
	memcpy(label, text, len);
	label[len] = '\0';
	return is_one_of(services, ARRAY_SIZE(services), label) ||
	       is_region(label, len);
}

const char *suffix_tenants(const struct dnsname *n)
{
	char text[DNSNAME_STR_LEN];

	(void)dnsname_format(n, text);
	/* The table's names have four labels at most. */
	if (dnsname_labels(n) > 4)
		return is_aws_service(text) ? tenants[0].opens : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tenants); i++)
		if (strcmp(text, tenants[i].name) == 0 ||
		    is_below(tenants[i].name, text))
			return tenants[i].opens;
	return is_aws_service(text) ? tenants[0].opens : NULL;
}

/* s3.amazonaws.com, s3.us-west-2.amazonaws.com, s3-us-west-2.amazonaws.com */
static bool is_aws_endpoint(const char *text)
{
	size_t len = strcspn(text, ".");
	const char *rest = text + len;
	size_t region;

	if (len < 2 || memcmp(text, "s3", 2) != 0 || *rest != '.')
		return false;
	if (strcmp(rest + 1, "amazonaws.com") == 0)
		return len == 2 ||
		       (text[2] == '-' && is_region(text + 3, len - 3));
	region = strcspn(rest + 1, ".");
	return len == 2 && is_region(rest + 1, region) &&
	       strcmp(rest + 1 + region, ".amazonaws.com") == 0;
}

const char *suffix_shared(const struct dnsname *n)
{
	char text[DNSNAME_STR_LEN];

	(void)dnsname_format(n, text);
	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (strcmp(text, shared[i].name) == 0)
			return shared[i].serves;
	return is_aws_endpoint(text) ? shared[0].serves : NULL;
}
