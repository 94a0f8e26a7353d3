/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stat_conns.h - saker-stat conns: who is connected
 *
 * Place    `ss` sees none of a responder's connections: they never were the
 *          kernel's. docs/saker-stat.8 has the options and the JSON schema.
 * Model    Reads the map `conns` of one responder, or of each that has pins,
 *          running or crashed; leaves out what the filters say; sorts; prints.
 *          An entry is believed when it is whole: conns.h.
 */
#ifndef STAT_CONNS_H
#define STAT_CONNS_H

/* argv[0] is "conns". The exit status of main. */
int stat_conns(int argc, char **argv);

#endif
