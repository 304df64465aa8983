"""Mount a file system of FUSE that answers no read of its file `stuck`. Usage: hung_files.py FOLDER.

It speaks to /dev/fuse itself: a mount by root needs no library.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

INIT, LOOKUP, GETATTR, OPEN, READ = 26, 1, 3, 14, 15


def attributes(node: int) -> bytes:
    """Return the attributes of the root (1) or the file (2). Source: Linux, include/uapi/linux/fuse.h."""
    mode, size = (0o40755, 0) if node == 1 else (0o100644, 4096)
    return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def main(folder: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"hung", folder.encode(), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    print("mounted", flush=True)
    while True:
        try:
            request = os.read(device, 1 << 17)
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.EBADF):
                return
            raise
        _, code, unique, node = struct.unpack_from("<IIQQ", request)
        answer: bytes | None = b""
        status = 0
        if code == INIT:
            answer = struct.pack("<IIIIHHIIHHI28x", 7, 31, 4096, 0, 1, 1, 4096, 1, 0, 0, 0)
        elif code == LOOKUP:
            answer = struct.pack("<QQQQII", 2, 0, 1, 1, 0, 0) + attributes(2)
        elif code == GETATTR:
            answer = struct.pack("<QII", 1, 0, 0) + attributes(node)
        elif code == OPEN:
            answer = struct.pack("<QII", 0, 0, 0)
        elif code == READ:
            answer = None
        else:
            status, answer = -errno.ENOSYS, b""
        if answer is not None:
            os.write(device, struct.pack("<IiQ", 16 + len(answer), status, unique) + answer)


if __name__ == "__main__":
    main(sys.argv[1])
