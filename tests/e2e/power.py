# SPDX-License-Identifier: GPL-2.0-or-later
"""Power cuts: a disk and the flash of firmware's variables that are served to QEMU over NBD, so that each of their
writes is known, in one order; and what is left of them when power fails in between.

The disk has a volatile cache, as disks have: a write is sure to be there only once a FLUSH after it (or its own FUA) was
answered. Until then each of its sectors may be there or not, in any order. A sector is written whole or not at all. Flash
has no cache: what was written is there; a write that was under way may have ended at any byte."""

import bisect
import mmap
import socket
import struct
import threading
import time
from pathlib import Path

from guest import ESP_SIZE, ESP_START, STATE_START
from machine import ALL_SIZES, Machine

SECTOR = 512
DISK, FLASH = "disk", "flash"

# The protocol: https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
OPTION_EXPORT_NAME, OPTION_ABORT, OPTION_GO = 1, 2, 7
REPLY_ACK, REPLY_INFO, REPLY_UNSUPPORTED = 1, 3, 1 << 31 | 1
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
HAS_FLAGS, HAS_FLUSH, HAS_FUA = 1, 4, 8
FUA = 1


class Event:
    """A write, or (without data) a flush of the disk."""

    __slots__ = ("time", "device", "offset", "data", "durable")

    def __init__(self, device, offset=0, data=None, durable=False):
        self.time, self.device, self.offset, self.data, self.durable = time.monotonic(), device, offset, data, durable

    def __str__(self):
        if self.data is None:
            return "flush"
        where = f"{self.device}+{self.offset:#x}"
        if self.device == DISK and self.offset >= ESP_START:
            where = (f"ESP+{self.offset - ESP_START:#x}" if self.offset < ESP_START + ESP_SIZE
                     else f"state+{self.offset - STATE_START:#x}")
        return f"{len(self.data)} bytes at {where}{', durable' if self.durable else ''}"


class World:
    """Disk and flash of a machine: two files, which stay as they are, and what was written since."""

    def __init__(self, files, writes=()):
        self.files, self.writes, self.log, self.images = files, list(writes), [], {}
        for device, path in files.items():
            with open(path, "rb") as f:
                self.images[device] = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
        for device, offset, data in self.writes:
            self.images[device][offset:offset + len(data)] = data

    def write(self, device, offset, data, durable):
        self.log.append(Event(device, offset, data, durable or device == FLASH))
        self.images[device][offset:offset + len(data)] = data

    def flush(self, device):
        # One after the other changes nothing.
        if device == DISK and not (self.log and self.log[-1].data is None):
            self.log.append(Event(device))

    def after(self, n=None):
        """The world when the first `n` events (all, if not said) have come to their end."""
        return World(self.files, self.writes + [(e.device, e.offset, e.data) for e in self.log[:n] if e.data is not None])

    def cut(self, n, random, completed=False, keep=None):
        """The world after a power cut at the n-th event, which is under way or, if so said, just completed. `keep` is
        how likely a write that is not sure to be there is there."""
        happened = self.log[:n]
        done = n if completed else n - 1
        flushed = max((i for i, e in enumerate(happened[:done]) if e.data is None), default=-1)
        # Disks that lose all, or nothing, or what they like.
        keep = random.choice((0, 0.2, 0.5, 0.8, 1)) if keep is None else keep
        whole = random.random() < 0.5
        writes = list(self.writes)
        for i, e in enumerate(happened):
            if e.data is None:
                continue
            under_way = i >= done
            if e.device == FLASH:
                data = torn_flash(e, self._before(writes, e), random) if under_way else e.data
                writes.append((e.device, e.offset, data))
            elif i < flushed or e.durable and not under_way:
                writes.append((e.device, e.offset, e.data))
            elif whole or e.offset == STATE_START:
                # ext4's superblock has a checksum and lies in two sectors: half of it is for e2fsck to mend.
                if random.random() < keep:
                    writes.append((e.device, e.offset, e.data))
            else:
                for at in range(0, len(e.data), SECTOR):
                    if random.random() < keep:
                        writes.append((e.device, e.offset + at, e.data[at:at + SECTOR]))
        return World(self.files, writes)

    def _before(self, writes, event):
        with open(self.files[event.device], "rb") as f:
            f.seek(event.offset)
            old = bytearray(f.read(len(event.data)))
        for device, offset, data in writes:
            if device != event.device:
                continue
            start, end = max(offset, event.offset), min(offset + len(data), event.offset + len(old))
            if start < end:
                old[start - event.offset:end - event.offset] = data[start - offset:end - offset]
        return old

    def save(self, folder):
        """Writes both images to new files, holes where there is nothing."""
        for device, image in self.images.items():
            with open(Path(folder) / device, "xb") as f:
                f.truncate(len(image))
                for at in range(0, len(image), mmap.PAGESIZE):
                    page = image[at:at + mmap.PAGESIZE]
                    if page.count(0) != len(page):
                        f.seek(at)
                        f.write(page)
        return {device: Path(folder) / device for device in self.images}


def torn_flash(event, old, random):
    """Programming and erasing go byte by byte; power fails at one of those that change."""
    changed = [i for i in range(len(old)) if old[i] != event.data[i]]
    if not changed:
        return event.data
    end = changed[random.randrange(len(changed))]
    return event.data[:end] + bytes(old[end:])


def position(log, start, end, random):
    """Where to cut a log between two times: while an event is under way, or at any moment: (its number, whether it
    was completed)."""
    times = [e.time for e in log]
    first, last = bisect.bisect(times, start), bisect.bisect(times, end)
    if first < last and random.random() < 0.75:
        return random.randint(first + 1, last), False
    return bisect.bisect(times, random.uniform(start, end)), True


class Server:
    """Serves the images of a world on a socket in `folder`."""

    def __init__(self, world, folder):
        self.world, self.path, self.lock, self.dead = world, str(Path(folder) / "nbd"), threading.Lock(), False
        Path(self.path).unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(4)
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, device):
        return f"nbd+unix:///{device}?socket={self.path}"

    def close(self):
        """Power is off: nothing that is still under way reaches the images."""
        with self.lock:
            self.dead = True
        self.socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as reader:
            try:
                device = handshake(connection, reader, self.world.images)
                while device and self._request(connection, reader, device):
                    pass
            except (OSError, struct.error):  # QEMU is gone
                pass

    def _request(self, connection, reader, device):
        magic, flags, kind, handle, offset, size = struct.unpack(">IHHQQI", reader.read(28))
        assert magic == 0x25609513
        data = reader.read(size) if kind == WRITE else b""
        if kind == DISCONNECT or len(data) != (size if kind == WRITE else 0):
            return False
        with self.lock:
            if self.dead:
                return False
            if kind == WRITE:
                self.world.write(device, offset, data, bool(flags & FUA))
            elif kind == FLUSH:
                self.world.flush(device)
            answer = self.world.images[device][offset:offset + size] if kind == READ else b""
        connection.sendall(struct.pack(">IIQ", 0x67446698, 0, handle) + answer)
        return True


def handshake(connection, reader, images):
    """Returns the name of the export that is asked for, or None."""
    connection.sendall(b"NBDMAGIC" + b"IHAVEOPT" + struct.pack(">H", 3))
    reader.read(4)
    while True:
        _, option, size = struct.unpack(">QII", reader.read(16))
        data = reader.read(size)

        def reply(kind, content=b"", option=option):
            connection.sendall(struct.pack(">QIII", 0x3E889045565A9, option, kind, len(content)) + content)

        if option == OPTION_GO:
            name = data[4:4 + struct.unpack_from(">I", data)[0]].decode()
            reply(REPLY_INFO, struct.pack(">HQH", 0, len(images[name]), HAS_FLAGS | HAS_FLUSH | HAS_FUA))
            reply(REPLY_ACK)
            return name
        if option == OPTION_ABORT:
            return None
        assert option != OPTION_EXPORT_NAME
        reply(REPLY_UNSUPPORTED)


class PowerMachine(Machine):
    """A machine whose disk and flash are those of a world. Its clock stands at the same time at each start."""

    def __init__(self, folder, world, firmware="edk2", cpu=ALL_SIZES):
        super().__init__(folder, None, cpu, firmware, more=["-rtc", "base=2026-01-01T00:00:00,clock=vm"])
        self.world, self.server = world, None

    def start(self, wait=True):
        self.server = Server(self.world, self.folder)
        return super().start(wait)

    def variables_file(self, _):
        return self.server.url(FLASH)

    def disk_options(self):
        return ["-drive", f"if=virtio,format=raw,cache=writeback,file={self.server.url(DISK)}"]

    def kill(self):
        if self.server:
            self.server.close()
            self.server = None
        super().kill()
