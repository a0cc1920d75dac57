/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * presetdir.h - presets of the system and of the user, beside the built-in ones
 */
#ifndef EGRET_GATEWAY_PRESETDIR_H
#define EGRET_GATEWAY_PRESETDIR_H

struct err;
struct preset_set;

#define PRESETDIR_SYSTEM    "/etc/egret"
#define PRESETDIR_FILES_MAX 512 /* .hosts files of one directory */

/**
 * presetdir_add() - the files NAME.hosts of the directory "presets" in @parent
 *
 * They take the place of presets of the same names. A file that can't be used
 * is kept with the reason, for whoever names it. No directory is no presets.
 * Return: 0, or negative errno with @s perhaps added to.
 */
int presetdir_add(struct preset_set *s, const char *parent, struct err *err);

/**
 * presetdir_load() - built-in presets, then the system's, then the user's
 * @config_dir: the user's directory of egret; NULL or "" for none
 */
int presetdir_load(const char *config_dir, struct preset_set **ret,
		   struct err *err);

#endif /* EGRET_GATEWAY_PRESETDIR_H */
