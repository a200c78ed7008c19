/* SPDX-License-Identifier: MIT */
#ifndef OPTRAIL_PACKET_WALK_H
#define OPTRAIL_PACKET_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* How far a CTF stream file is sound, seen from its packet headers alone. */
struct packet_walk {
    uint64_t whole; /* bytes of whole packets from the file's beginning */
    bool cut;       /* a packet begins there that the file does not hold to its end */
    bool open;      /* a packet begins there that was never closed: without its sizes, on which
                       babeltrace2 2.0.4 goes round for ever, and with zeros behind its events */
    /* only when cut or open: */
    uint64_t size_offset; /* where the cut packet's size and content size stand, from the file's
                             beginning; both are in bits */
    uint64_t content_offset;
    uint64_t content_bits; /* of the cut packet, by its header; behind them is padding */
};

enum { PACKET_LAYOUTS = 2 };

/* Walks over the packets of the open file of `size` bytes, once with each of the packet layouts
 * that are known: those of LTTng-UST and of babeltrace2's sink.ctf.fs, in this machine's byte
 * order. Puts those walks first that lead further. They can lead equally far, which is nowhere, in
 * a file with a single packet: then only babeltrace2, which knows the metadata, can tell which
 * mended copy is sound. Does not move the file's position. */
void packet_walks(int file, uint64_t size, struct packet_walk walks[PACKET_LAYOUTS]);

#endif
