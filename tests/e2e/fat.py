# SPDX-License-Identifier: GPL-2.0-or-later
"""A FAT32 file system in a disk image, edited in place: many files at once, which mtools takes minutes for, and damage
that no tool makes on purpose (Microsoft's FAT specification, 1.03)."""

import struct

END = 0x0FFFFFFF
FOLDER = 0x10


class Fat:
    def __init__(self, image, start):
        """`start`: offset of the file system in the image, in bytes."""
        self.file, self.start = open(image, "r+b"), start
        head = self._read(0, 512)
        sector, self.per_cluster, reserved, self.copies = struct.unpack_from("<HBHB", head, 11)
        self.fat_size, self.root = struct.unpack_from("<I4xI", head, 36)
        self.fat_size *= sector
        self.fat_at, self.cluster_size = reserved * sector, self.per_cluster * sector
        self.data_at = self.fat_at + self.copies * self.fat_size
        self.table = list(struct.unpack(f"<{self.fat_size // 4}I", self._read(self.fat_at, self.fat_size)))
        total = struct.unpack_from("<I", head, 32)[0] * sector
        self.clusters = min(len(self.table), (total - self.data_at) // self.cluster_size + 2)
        self.free = iter([n for n in range(2, self.clusters) if self.table[n] & END == 0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        raw = struct.pack(f"<{len(self.table)}I", *self.table)
        for copy in range(self.copies):
            self._write(self.fat_at + copy * self.fat_size, raw)
        self.file.close()

    def _read(self, offset, size):
        self.file.seek(self.start + offset)
        return self.file.read(size)

    def _write(self, offset, data):
        self.file.seek(self.start + offset)
        self.file.write(data)

    def _at(self, cluster):
        return self.data_at + (cluster - 2) * self.cluster_size

    def chain(self, cluster):
        found = []
        while 2 <= cluster < self.clusters and cluster not in found:
            found.append(cluster)
            cluster = self.table[cluster] & END
        return found

    def allocate(self, data):
        """Writes data to free clusters; returns the first of their chain."""
        n = max(1, -(-len(data) // self.cluster_size))
        clusters = [next(self.free) for _ in range(n)]
        for i, cluster in enumerate(clusters):
            self._write(self._at(cluster), data[i * self.cluster_size:(i + 1) * self.cluster_size]
                        .ljust(self.cluster_size, b"\0"))
            self.table[cluster] = clusters[i + 1] if i + 1 < n else END
        return clusters[0]

    def _content(self, cluster):
        return b"".join(self._read(self._at(c), self.cluster_size) for c in self.chain(cluster))

    def find(self, path):
        """(offset of the short entry in the image's file system, attributes, first cluster, size)."""
        cluster, found = self.root, None
        for part in path.strip("/").split("/"):
            chain, content, name = self.chain(cluster), self._content(cluster), ""
            for at in range(0, len(content), 32):
                entry = content[at:at + 32]
                if entry[0] in (0, 0xE5):
                    name = ""
                    continue
                if entry[11] == 0x0F:
                    units = entry[1:11] + entry[14:26] + entry[28:32]
                    name = units.decode("utf-16-le").split("\0")[0] + name
                    continue
                short = entry[:8].decode("latin-1").rstrip() + ("." + entry[8:11].decode("latin-1").rstrip()).rstrip(".")
                if part.lower() in (name.lower(), short.lower()):
                    high, low, size = struct.unpack_from("<H4xHI", entry, 20)
                    offset = self._at(chain[at // self.cluster_size]) + at % self.cluster_size
                    found = (offset, entry[11], high << 16 | low, size)
                    break
                name = ""
            else:
                raise FileNotFoundError(path)
            cluster = found[2]
        return found

    def patch(self, path, cluster=None, size=None):
        """Makes the directory entry of a file say something else."""
        offset, _, _, _ = self.find(path)
        if cluster is not None:
            self._write(offset + 20, struct.pack("<H", cluster >> 16))
            self._write(offset + 26, struct.pack("<H", cluster & 0xFFFF))
        if size is not None:
            self._write(offset + 28, struct.pack("<I", size))

    def fill_folder(self, path, files):
        """Writes an empty folder's content anew: (name, bytes) of each file. Small files with the same bytes share
        their clusters, which a reader does not notice."""
        _, _, first, _ = self.find(path)
        content = [self._content(first)[:64]]  # "." and ".."
        shared = {}
        for number, (name, data) in enumerate(files):
            if data not in shared:
                shared[data] = self.allocate(data)
            content.append(_entries(name, number, shared[data], len(data)))
        raw = b"".join(content) + bytes(32)
        self._write(self._at(first), raw[:self.cluster_size])
        self.table[first] = self.allocate(raw[self.cluster_size:]) if len(raw) > self.cluster_size else END


def _entries(name, number, cluster, size):
    """Directory entries of a file: its long name, last part first, then a short one made of a number."""
    short = b"F%07d   " % number
    check = 0
    for byte in short:
        check = ((check & 1) << 7) + (check >> 1) + byte & 0xFF
    units = name.encode("utf-16-le") + b"\0\0"
    units += b"\xff" * (-len(units) % 26)
    parts = [units[i:i + 26] for i in range(0, len(units), 26)]
    if name and len(name) % 13 == 0:
        parts = parts[:-1]
    out = b""
    for i in range(len(parts), 0, -1):
        part = parts[i - 1]
        order = i | (0x40 if i == len(parts) else 0)
        out += struct.pack("<B10sBBB12sH4s", order, part[:10], 0x0F, 0, check, part[10:22], 0, part[22:])
    return out + short + struct.pack("<BBBHHHHHHHI", 0x20, 0, 0, 0, 0x21, 0x21, cluster >> 16, 0, 0x21,
                                     cluster & 0xFFFF, size)


def fat_problems(image, start):
    """What is wrong with files of a FAT32 file system in an image in memory: clusters that two of them share, chains
    that do not match a file's size. Temporary files of granule may be wrong in any way, and their clusters count as
    nobody's."""
    reserved, copies, fat_size, root = struct.unpack_from("<HB", image, start + 14) + struct.unpack_from(
        "<I4xI", image, start + 36)
    sector, per_cluster = struct.unpack_from("<HB", image, start + 11)
    size = sector * per_cluster
    table = struct.unpack_from(f"<{fat_size * sector // 4}I", image, start + reserved * sector)
    data_at = start + (reserved + copies * fat_size) * sector
    problems, owners = [], {}

    def chain(cluster):
        found = []
        while 2 <= cluster < len(table) and len(found) <= len(table):
            found.append(cluster)
            cluster = table[cluster] & END
        return found, cluster >= 0x0FFFFFF8

    def claim(path, first, wanted):
        clusters, ended = chain(first) if first else ([], True)
        if not ended or wanted not in (None, len(clusters)):
            problems.append(f"{path}: {len(clusters)} clusters of {wanted}, {'ended' if ended else 'not ended'}")
        for cluster in clusters:
            if owners.setdefault(cluster, path) != path:
                problems.append(f"{path} and {owners[cluster]}: share cluster {cluster}")
                break
        return clusters

    def walk(path, first):
        content, name = b"", ""
        for cluster in claim(path, first, None):
            at = data_at + (cluster - 2) * size
            content += image[at:at + size]
        for at in range(0, len(content), 32):
            item = content[at:at + 32]
            if item[0] == 0:
                break
            if item[11] == 0x0F and item[0] != 0xE5:
                name = (item[1:11] + item[14:26] + item[28:32]).decode("utf-16-le", "replace").split("\0")[0] + name
                continue
            short, (high, low, length) = item[:11].decode("latin-1"), struct.unpack_from("<H4xHI", item, 20)
            full, name = f"{path}/{name or short}", ""
            if item[0] == 0xE5 or item[0] == 0x2E or item[11] & 0x08 or "/.granule-" in full:
                continue
            if item[11] & FOLDER:
                walk(full, high << 16 | low)
            else:
                claim(full, high << 16 | low, -(-length // size))

    walk("", root)
    return problems
