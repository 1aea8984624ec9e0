"""Reads the tables of a bundle's roles out of their shared objects, changes numbers
in them, and signs the changed bundle as a whole: a hash and a certificate of its
own."""

import hashlib
import json
import os
import struct

# Fields of the records of runtime/include/pmrt/pmrt.h: offset, struct code, and
# what a pointer ("P") leads to.
RECORDS = {
    "buffer": (40, {"name": (0, "P", "string"), "offset": (8, "Q"),
                    "bytes": (16, "Q"), "slot_stride": (24, "Q"),
                    "slots": (32, "I"), "dtype": (36, "I")}),
    "operand": (24, {"buffer": (0, "i"), "access": (4, "I"), "offset": (8, "Q"),
                     "bytes": (16, "Q")}),
    "kernel": (56, {"name": (0, "P", "string"), "extent": (16, "q"),
                    "grain": (24, "q"), "scratch_bytes": (32, "Q")}),
    "gemm": (192, {"m": (0, "q"), "n": (8, "q"), "k": (16, "q"), "lda": (24, "q"),
                   "ldb": (32, "q"), "ldc": (40, "q"), "trans_a": (180, "B"),
                   "trans_b": (181, "B"), "accumulate": (182, "B"),
                   "dtype": (183, "B"), "epilogue": (184, "I")}),
    "collective": (32, {"communicator": (0, "I"), "dtype": (4, "I"),
                        "reduction": (8, "I"), "sequence": (12, "I"),
                        "counts": (16, "P", "count"), "outer": (24, "Q")}),
    "all_to_all": (72, {"communicator": (0, "I"), "dtype": (4, "I"),
                        "split_size": (40, "Q"), "split_piece": (48, "Q")}),
    "permute": (40, {"communicator": (0, "I"), "dtype": (4, "I"),
                     "num_members": (12, "I"), "count": (16, "Q"),
                     "num_parts": (32, "Q")}),
    "jump": (16, {"num_targets": (0, "I"), "dtype": (4, "I"),
                  "targets": (8, "P", "count")}),
    "count": (8, {"value": (0, "Q")}),
    "index": (4, {"value": (0, "I")}),
    "instruction": (40, {"opcode": (0, "I"), "num_operands": (8, "I"),
                         "event": (12, "I"),
                         "operands": (16, "P", "operand"),
                         "descriptor": (24, "P", None),
                         "location": (32, "P", "string")}),
    "body": (32, {"name": (0, "P", "string"), "kind": (8, "I"), "stage": (12, "I"),
                  "num_instructions": (16, "Q"),
                  "instructions": (24, "P", "instruction")}),
    "action": (24, {"kind": (0, "I"), "index": (4, "I"), "micro_batch": (8, "I"),
                    "peer": (12, "I"), "channel": (16, "I")}),
    "communicator": (24, {"name": (0, "P", "string"), "num_axes": (8, "I"),
                          "lane": (12, "I"), "axes": (16, "P", "index")}),
    "axis": (16, {"name": (0, "P", "string"), "kind": (8, "I"), "size": (12, "I")}),
    "launch": (8, {"blocks": (0, "I"), "threads": (4, "I")}),
    "image": (24, {"processor": (0, "I"), "bytes": (8, "Q")}),
    "workspace": (16, {"offset": (0, "Q"), "bytes": (8, "Q")}),
    "device_code": (32, {"launches": (0, "P", "launch"), "num_images": (8, "I"),
                         "num_workspaces": (12, "I"), "images": (16, "P", "image"),
                         "workspaces": (24, "P", "workspace")}),
    "role": (120, {"abi_version": (0, "I"), "num_axes": (4, "I"),
                   "axes": (8, "P", "axis"), "arena_bytes": (16, "Q"),
                   "scratch_offset": (24, "Q"), "scratch_bytes": (32, "Q"),
                   "num_buffers": (40, "I"), "num_kernels": (44, "I"),
                   "num_bodies": (48, "I"), "num_communicators": (52, "I"),
                   "num_actions": (56, "Q"), "buffers": (64, "P", "buffer"),
                   "kernels": (72, "P", "kernel"), "bodies": (80, "P", "body"),
                   "communicators": (88, "P", "communicator"),
                   "actions": (96, "P", "action"),
                   "bundle_hash": (104, "P", "string"),
                   "device": (112, "P", "device_code")}),
}
OPCODES = ["", "gemm", "kernel", "all-reduce", "copy", "zero", "all-gather",
           "reduce-scatter", "all-to-all", "permute", "jump", "switch", "wait"]
DESCRIPTORS = {"gemm": "gemm", "kernel": "kernel", "all-reduce": "collective",
               "all-gather": "collective", "reduce-scatter": "collective",
               "all-to-all": "all_to_all", "permute": "permute", "jump": "jump",
               "switch": "jump"}
RUN, SEND, RECEIVE = 0, 1, 2
READ, WRITE = 1, 2
SCRATCH = -1


class Record:
    """A record in the image; its fields are read and written there."""

    def __init__(self, image, kind, address):
        self.__dict__.update(image=image, record=kind, address=address)

    def __getattr__(self, name):
        size_of_field = RECORDS[self.record][1].get(name)
        if size_of_field is None:
            raise AttributeError(f"{self.record} has no {name}")
        offset, code = size_of_field[:2]
        if code == "P":
            target = self.image.pointer(self.address + offset)
            return (self.image.string(target) if size_of_field[2] == "string"
                    else Record(self.image, size_of_field[2], target))
        return self.image.read(self.address + offset, code)

    def __setattr__(self, name, value):
        offset, code = RECORDS[self.record][1][name][:2]
        if code == "P":
            self.image.set_pointer(self.address + offset, value.address)
        else:
            self.image.write(self.address + offset, code, value)

    def __getitem__(self, index):
        return Record(self.image, self.record,
                      self.address + index * RECORDS[self.record][0])

    def swap(self, other):
        """Exchanges two records of one kind, with what their pointers lead to."""
        size = RECORDS[self.record][0]
        a, b = (self.image.bytes(r.address, size) for r in (self, other))
        pointers = [field[0] for field in RECORDS[self.record][1].values()
                    if field[1] == "P"]
        targets = [[self.image.pointer(r.address + p) for p in pointers]
                   for r in (self, other)]
        self.image.set_bytes(self.address, b)
        self.image.set_bytes(other.address, a)
        for record, values in ((self, targets[1]), (other, targets[0])):
            for pointer, value in zip(pointers, values):
                self.image.set_pointer(record.address + pointer, value)


class Image:
    """A shared object as it will lie in memory from address 0 on."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        (program, sections, _, _, size, count, section_size, section_count,
         _) = struct.unpack_from("<QQIHHHHHH", self.data, 32)
        self.segments = []
        for i in range(count):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self.data, program + i * size)
            if kind == 1:
                self.segments.append((address, offset, length))
        self.relocations = {}  # of a place: where its addend lies in the file
        self.symbol = None
        for i in range(section_count):
            (_, kind, _, _, offset, length, link, _, _, entry) = struct.unpack_from(
                "<IIQQQQIIQQ", self.data, sections + i * section_size)
            if kind == 4:
                for at in range(offset, offset + length, 24):
                    self.relocations[struct.unpack_from("<Q", self.data, at)[0]] = \
                        at + 16
            if kind == 11:
                names = struct.unpack_from("<IIQQQQ", self.data,
                                           sections + link * section_size)[4]
                for at in range(offset, offset + length, entry):
                    name, value = (struct.unpack_from("<I", self.data, at)[0],
                                   struct.unpack_from("<Q", self.data, at + 8)[0])
                    end = self.data.index(b"\0", names + name)
                    if self.data[names + name:end] == b"pmrt_role_table":
                        self.symbol = value
        self.role = Record(self, "role", self.symbol)

    def at(self, address):
        for begin, offset, length in self.segments:
            if begin <= address < begin + length:
                return address - begin + offset
        raise ValueError(f"nothing at {address:x} of {self.path}")

    def read(self, address, code):
        return struct.unpack_from("<" + code, self.data, self.at(address))[0]

    def write(self, address, code, value):
        struct.pack_into("<" + code, self.data, self.at(address), value)

    def bytes(self, address, size):
        return bytes(self.data[self.at(address):self.at(address) + size])

    def set_bytes(self, address, content):
        self.data[self.at(address):self.at(address) + len(content)] = content

    def pointer(self, address):
        addend = self.relocations.get(address)
        return (struct.unpack_from("<q", self.data, addend)[0] if addend
                else self.read(address, "Q"))

    def set_pointer(self, address, target):
        addend = self.relocations.get(address)
        if addend:
            struct.pack_into("<q", self.data, addend, target)
        else:
            self.write(address, "Q", target)

    def string(self, address):
        begin = self.at(address)
        return self.data[begin:self.data.index(b"\0", begin)].decode()


class Role:
    """One role, with its records as lists."""

    def __init__(self, path, info):
        self.image = Image(path)
        self.table, self.info = self.image.role, info

    def list(self, records, count):
        return [records[i] for i in range(count)]

    @property
    def buffers(self):
        return self.list(self.table.buffers, self.table.num_buffers)

    @property
    def actions(self):
        return self.list(self.table.actions, self.table.num_actions)

    @property
    def bodies(self):
        return self.list(self.table.bodies, self.table.num_bodies)

    @property
    def communicators(self):
        return self.list(self.table.communicators, self.table.num_communicators)

    def buffer(self, name):
        return next(i for i, b in enumerate(self.buffers) if b.name == name)

    def body(self, kind):
        """The first body of a kind; numbers are those of pmrt_fragment_kind."""
        return next(body for body in self.bodies if body.kind == kind)

    def instructions(self, body):
        return self.list(body.instructions, body.num_instructions)

    def find(self, opcode, where=lambda body, instruction: True):
        """The first instruction of an opcode for which `where` holds; returns its
        body, its number, itself."""
        for body in self.bodies:
            for number, instruction in enumerate(self.instructions(body)):
                if (OPCODES[instruction.opcode] == opcode and
                        where(body, instruction)):
                    return body, number, instruction
        raise LookupError(f"no {opcode} in {self.image.path}")

    def operands(self, instruction):
        return self.list(instruction.operands, instruction.num_operands)

    def descriptor(self, instruction):
        return Record(self.image, DESCRIPTORS[OPCODES[instruction.opcode]],
                      self.image.pointer(instruction.address + 24))

    def find_actions(self, kind, name=None):
        """Numbers of the actions of a kind, on a buffer or a body so called."""
        found = []
        for number, action in enumerate(self.actions):
            if action.kind == kind and (name is None or name == (
                    self.bodies if kind == RUN else self.buffers)[
                        action.index].name):
                found.append(number)
        return found

    def remove_action(self, number):
        """The actions behind it move up."""
        for i in range(number, self.table.num_actions - 1):
            self.table.actions[i].swap(self.table.actions[i + 1])
        self.table.num_actions -= 1

    def move_action(self, number, to):
        step = 1 if to > number else -1
        for i in range(number, to, step):
            self.table.actions[i].swap(self.table.actions[i + step])


class BundleTables:
    """A bundle that can be changed."""

    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "manifest.json")) as file:
            self.manifest = json.load(file)
        self.roles = [Role(os.path.join(folder, info["file"]), info)
                      for info in self.manifest["roles"]]

    def write(self, folder):
        """Writes it with a hash of all that decides what it does, and with a
        certificate of these files, as if it had been proved."""
        os.makedirs(folder, exist_ok=True)
        digest = hashlib.sha256(json.dumps(self.manifest).encode())
        for role in self.roles:
            digest.update(role.image.data)
        self.manifest["hash"] = digest.hexdigest()
        files = {"manifest.json": json.dumps(self.manifest).encode()}
        for role in self.roles:
            image = role.image
            where = image.at(image.pointer(role.table.address + 104))
            image.data[where:where + 64] = self.manifest["hash"].encode()
            files[role.info["file"]] = bytes(image.data)
        certificate = {"format": "pipemesh-certificate", "version": 1,
                       "bundle": self.manifest["hash"],
                       "files": {name: hashlib.sha256(content).hexdigest()
                                 for name, content in files.items()}}
        files["certificate.json"] = json.dumps(certificate).encode()
        for name, content in files.items():
            path = os.path.join(folder, name)
            if os.path.exists(path):
                os.remove(path)
            with open(path, "wb") as file:
                file.write(content)
        return folder
