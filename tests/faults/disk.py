"""What a power failure leaves of recorded file operations.

The volatile state is what programs saw. Of it a disk keeps what was synced, and of the rest any part:
 - a file's pages of 4 KiB, each on its own: as they were when the file was last synced, as they are now, or torn at a
   sector of 512 bytes; its size, old or new. Pages that were never written read as zeros.
 - a folder's entries: of the changes (create, mkdir, rename, link, unlink) since the folder was last synced, any subset. A
   change is done whole or not at all. Syncing a file does not make its name durable.
"""

import os

PAGE = 4096
SECTOR = 512
RENAME_EXCHANGE = 2


class Operation:
    def __init__(self, kind, process, path, to, offset, data):
        self.kind, self.process, self.path, self.to, self.offset, self.data = kind, process, path, to, offset, data

    def __repr__(self):
        return f"{self.kind} {self.path} {self.to} {self.offset}+{len(self.data)}"


def read_log(path):
    operations = []
    with open(path, "rb") as log:
        for line in iter(log.readline, b""):
            kind, process, name, to, offset, count = line.decode().rstrip("\n").split("\t")
            operations.append(Operation(kind, int(process), name, to, int(offset), log.read(int(count))))
    return operations


class File:
    def __init__(self):
        self.now = bytearray()
        self.synced = b""
        self.writers = {}  # page: the processes whose writes to it are not synced

    def write(self, offset, data, process):
        if offset > len(self.now):
            self.now.extend(bytes(offset - len(self.now)))
        self.now[offset:offset + len(data)] = data
        for page in range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1):
            self.writers.setdefault(page, set()).add(process)

    def truncate(self, size):
        if size < len(self.now):
            del self.now[size:]
        else:
            self.now.extend(bytes(size - len(self.now)))

    def sync(self, process=None):
        """All of it; with a process (the hosts of a shared file system), but what others alone have written."""
        if process is None or all(process in who for who in self.writers.values()):
            self.synced = bytes(self.now)
            self.writers = {}

    def survivor(self, random, p_kept):
        """p_kept: that an unsynced page, or the unsynced size, is on the disk."""
        if not self.writers and len(self.synced) == len(self.now):
            return bytes(self.synced)
        size = len(self.now) if random.random() < p_kept else len(self.synced)
        content = bytearray(self.synced[:size].ljust(size, b"\0"))
        for page in self.writers:
            begin = page * PAGE
            end = min(begin + PAGE, size, len(self.now))
            if random.random() < p_kept:
                if random.random() < 0.25:
                    end = min(end, begin + SECTOR * random.randrange(1, PAGE // SECTOR))
                if end > begin:
                    content[begin:end] = self.now[begin:end]
        return bytes(content)


class Folder:
    def __init__(self):
        self.now = {}
        self.synced = {}


class Change:
    """Entries that change together: (folder, name, object or None)."""

    def __init__(self, *entries):
        self.entries = list(entries)


class Disk:
    def __init__(self):
        self.root = Folder()
        self.pending = []  # changes, oldest first

    def find(self, path):
        found = self.root
        for name in path.split("/") if path != "." else []:
            if not isinstance(found, Folder) or name not in found.now:
                return None
            found = found.now[name]
        return found

    def place(self, path):
        parent, _, name = path.rpartition("/")
        return self.find(parent or "."), name

    def change(self, *entries):
        for folder, name, thing in entries:
            if thing is None:
                folder.now.pop(name, None)
            else:
                folder.now[name] = thing
        self.pending.append(Change(*entries))

    def apply(self, operation, by_host=False):
        getattr(self, "do_" + operation.kind)(operation, by_host)

    def do_create(self, o, _):
        self.change((*self.place(o.path), File()))

    def do_mkdir(self, o, _):
        self.change((*self.place(o.path), Folder()))

    def do_write(self, o, _):
        file = self.find(o.path)
        if file is not None and o.data:
            file.write(o.offset, o.data, o.process)

    def do_truncate(self, o, _):
        file = self.find(o.path)
        if file is not None:
            file.truncate(o.offset)

    def do_sync(self, o, by_host):
        thing = self.find(o.path)
        if isinstance(thing, File):
            thing.sync(o.process if by_host else None)
        elif thing is not None:
            self.sync_folder(thing)

    def sync_folder(self, folder):
        folder.synced = dict(folder.now)
        for change in self.pending:
            change.entries = [entry for entry in change.entries if entry[0] is not folder]
        self.pending = [change for change in self.pending if change.entries]

    def do_rename(self, o, _):
        source, target = self.place(o.path), self.place(o.to)
        moved, replaced = self.find(o.path), self.find(o.to)
        back = replaced if o.offset & RENAME_EXCHANGE else None
        self.change((*source, back), (*target, moved))

    def do_link(self, o, _):
        self.change((*self.place(o.to), self.find(o.path)))

    def do_unlink(self, o, _):
        self.change((*self.place(o.path), None))

    def do_close(self, o, _):
        pass

    def write_survivors(self, path, random, p_file, p_folder):
        """What a cut here leaves, as a folder at `path`."""
        entries = {}
        for change in self.pending:
            if random.random() < p_folder:
                for folder, name, thing in change.entries:
                    entries.setdefault(id(folder), dict(folder.synced))[name] = thing
        self.materialise(self.root, path, entries, random, p_file)

    def materialise(self, folder, path, entries, random, p_file):
        os.mkdir(path)
        for name, thing in entries.get(id(folder), folder.synced).items():
            inner = os.path.join(path, name)
            if isinstance(thing, Folder):
                self.materialise(thing, inner, entries, random, p_file)
            elif thing is not None:
                with open(inner, "wb") as file:
                    file.write(thing.survivor(random, p_file))
