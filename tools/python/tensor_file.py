"""Reads and writes safetensors files with the standard library alone.

A file is eight bytes (little-endian) that say how long the header is, the
header (JSON: name -> dtype, shape, data_offsets) and the tensors' bytes, which
begin where the header ends. Offsets count from there.
"""

import array
import json
import os
import struct
import sys

# safetensors' name of a type -> bytes an element, and the code of `array` that
# holds it ("" where `array` has no such type).
DTYPES = {
    "F64": (8, "d"), "F32": (4, "f"), "F16": (2, ""), "BF16": (2, ""),
    "I64": (8, "q"), "I32": (4, "i"), "I16": (2, "h"), "I8": (1, "b"),
    "U64": (8, "Q"), "U32": (4, "I"), "U16": (2, "H"), "U8": (1, "B"),
    "BOOL": (1, "B"),
}


class TensorFileError(Exception):
    """The file cannot be read; the message names the file and the reason."""


class Tensor:
    """One tensor: `dtype` as safetensors names it, `shape`, raw `data`."""

    def __init__(self, dtype, shape, data):
        self.dtype = dtype
        self.shape = list(shape)
        self.data = data

    def values(self):
        """The elements in row-major order as an `array`."""
        code = DTYPES[self.dtype][1]
        if not code:
            raise TensorFileError(f"elements of type {self.dtype} have no "
                                  "counterpart in Python's array module")
        out = array.array(code)
        out.frombytes(self.data)
        if sys.byteorder == "big":
            out.byteswap()
        return out


def element_count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def read_header(path):
    """Returns (header without metadata, metadata, offset of the data)."""
    with open(path, "rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise TensorFileError(f"{path}: {len(start)} bytes long, too short "
                                  "for a safetensors file")
        (length,) = struct.unpack("<Q", start)
        total = os.fstat(file.fileno()).st_size
        if length > total - 8:
            raise TensorFileError(f"{path}: the header is said to have {length} "
                                  f"bytes, but the file has {total}")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise TensorFileError(f"{path}: header is not JSON: {error}")
    metadata = header.pop("__metadata__", {})
    return header, metadata, 8 + length


def read(path, names=None):
    """Reads the tensors `names` (all by default) as {name: Tensor}."""
    header, _, base = read_header(path)
    out = {}
    with open(path, "rb") as file:
        for name in header if names is None else names:
            if name not in header:
                raise TensorFileError(f"{path}: no tensor named '{name}'")
            entry = header[name]
            begin, end = entry["data_offsets"]
            size = DTYPES[entry["dtype"]][0] * element_count(entry["shape"])
            if end - begin != size:
                raise TensorFileError(
                    f"{path}: '{name}' has {end - begin} bytes, but its shape "
                    f"{entry['shape']} of {entry['dtype']} needs {size}")
            file.seek(base + begin)
            data = file.read(size)
            if len(data) != size:
                raise TensorFileError(f"{path}: ends inside of '{name}'")
            out[name] = Tensor(entry["dtype"], entry["shape"], data)
    return out


def read_model(directory):
    """All tensors of a model directory, from one file or from an index."""
    single = os.path.join(directory, "model.safetensors")
    if os.path.exists(single):
        return read(single)
    index = os.path.join(directory, "model.safetensors.index.json")
    with open(index) as file:
        files = sorted(set(json.load(file)["weight_map"].values()))
    out = {}
    for name in files:
        out.update(read(os.path.join(directory, name)))
    return out


def write(path, tensors, metadata=None):
    """Writes `tensors`, a list of (name, dtype, shape, data). `data` is bytes,
    or a function that returns them and is called when its turn comes, so that
    a large model never stands in memory twice. The file appears under its name
    only when it is whole."""
    header = {"__metadata__": metadata} if metadata else {}
    offset = 0
    for name, dtype, shape, _ in tensors:
        size = DTYPES[dtype][0] * element_count(shape)
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = path + ".partial"
    with open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for name, dtype, shape, data in tensors:
            data = data() if callable(data) else data
            if len(data) != DTYPES[dtype][0] * element_count(shape):
                raise ValueError(f"'{name}' has {len(data)} bytes, not those "
                                 f"of {dtype}{list(shape)}")
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def write_json(path, value):
    """Writes `value` as indented JSON, whole or not at all."""
    with open(path + ".partial", "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")
    os.replace(path + ".partial", path)
