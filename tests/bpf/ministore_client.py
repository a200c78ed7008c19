#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends a known number of writes and reads to a ministore and waits for every answer.

usage: ministore_client.py PORT WRITES READS [CLIENT]   prints "writes N reads N"
"""
import socket
import struct
import sys
import zlib

HEADER = struct.Struct("<IHHQQQQIIIII")
MAGIC, VERSION, REPLY, READ, WRITE = 0x5254534D, 1, 0x8000, 1, 2
SIZE = 4096


def frame(kind, client, tid, number, length, payload=b""):
    crc = zlib.crc32(payload) if payload else 0
    head = HEADER.pack(MAGIC, VERSION, kind, client, tid, number, 0, length, 0, crc, 0, 0)
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def receive(connection, size):
    parts = b""
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            sys.exit("the connection was closed")
        parts += part
    return parts


def ask(connection, kind, client, tid, number):
    payload = bytes([tid % 251]) * SIZE if kind == WRITE else b""
    connection.sendall(frame(kind, client, tid, number, SIZE, payload))
    head = HEADER.unpack(receive(connection, HEADER.size + 4)[:HEADER.size])
    if head[2] != kind | REPLY or head[4] != tid or head[8] != 0:
        sys.exit(f"op {tid}: answered with type {head[2]:#x}, tid {head[4]}, error {head[8]}")
    if kind == READ:
        receive(connection, head[7])


def main():
    port, writes, reads = (int(word) for word in sys.argv[1:4])
    client = int(sys.argv[4]) if len(sys.argv) > 4 else 77
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for tid in range(1, writes + reads + 1):
            ask(connection, WRITE if tid <= writes else READ, client, tid, tid % 16)
    print(f"writes {writes} reads {reads}")


main()
