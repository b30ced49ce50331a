# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions, and what makes them of the messages of the runtime and of the compiler."""
from __future__ import annotations

import difflib
import re
from typing import Iterable, Mapping, Optional, Sequence, Type


class Error(Exception):
    """What went wrong: `message`, and where they are known, `code` ("R0203", as the documentation lists them), the place in the
    spec (`file`, `line`, `column`), `notes`, and `help`, the mend."""

    def __init__(self, message: str, *, code: Optional[str] = None, file: Optional[str] = None, line: Optional[int] = None,
                 column: Optional[int] = None, notes: Sequence[str] = (), help: Optional[str] = None):
        super().__init__(message)
        self.message, self.code, self.file, self.line, self.column = message, code, file, line, column
        self.notes, self.help = tuple(notes), help

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = (place + ": " if place else "") + (f"[{self.code}] " if self.code else "") + self.message
        for note in self.notes:
            text += "\n  = note: " + note
        if self.help:
            text += "\n  = help: " + self.help.replace("\n", "\n  = help: ")
        return text


class ArgumentError(Error, ValueError):
    """An argument that cannot be: an option nobody knows, a buffer that cannot be used, a number out of range."""


class InputError(Error, ValueError):
    """A tensor or a text that an entry does not take: its dtype, its shape, an index outside of its table."""


class InputTypeError(InputError, TypeError):
    """An input of a kind that is not taken, or of another dtype; inputs that are missing or not known."""


class WeightsError(Error, ValueError):
    """Weights that are missing, malformed, or do not fit the model."""


class NotFoundError(Error, LookupError):
    """Nothing of that name."""


class UnknownNameError(NotFoundError, AttributeError):
    """No entry, cache or attribute of that name."""


class FileError(Error, OSError):
    """A file that could not be read or written, or is none of a model."""

    __str__ = Error.__str__


class DeviceError(Error, RuntimeError):
    """A CPU that lacks instructions, or a GPU that is not there or failed."""


class OutOfMemoryError(Error, MemoryError):
    """No memory, or no threads."""


class CompileError(Error, ValueError):
    """A spec that is wrong: the first error. `diagnostics` has all of them, and warnings, as the compiler writes them in JSON."""

    diagnostics: Sequence[Mapping[str, object]] = ()


class CompileWarning(UserWarning):
    """What the compiler warns of."""


# By attn_status of attn.h.
STATUSES: Mapping[int, Type[Error]] = {1: ArgumentError, 2: WeightsError, 3: InputError, 4: FileError, 5: DeviceError, 6: OutOfMemoryError,
                                       7: NotFoundError, 8: DeviceError}
for kind in {Error, InputTypeError, UnknownNameError, CompileError, CompileWarning, *STATUSES.values()}:
    kind.__module__ = "attn"  # where people find them


def from_message(status: int, message: str) -> Error:
    """The exception of a message of the runtime: "error[R0203]: ...", with notes and helps behind."""
    head, *rest = re.split(r"\n\s*= (?=(?:note|help): )", message)
    found = re.match(r"error\[(\w+)\]: ", head)
    notes = [line[len("note: "):] for line in rest if line.startswith("note: ")]
    helps = [line[len("help: "):] for line in rest if line.startswith("help: ")]
    text = head[found.end():] if found else head
    place = re.match(r"(.+?):(\d+):(\d+): ", text)  # of a chat template
    kind = STATUSES.get(status, Error)
    if found and found[1] in ("R0201", "R0102") and kind is not NotFoundError:
        kind = InputTypeError
    return kind(text[place.end():] if place else text, code=found[1] if found else None, file=place[1] if place else None,
                line=int(place[2]) if place else None, column=int(place[3]) if place else None, notes=notes,
                help="\n".join(helps) or None)


def names(known: Iterable[str]) -> str:
    """`a`, `b`."""
    return ", ".join(f"`{name}`" for name in known) or "none"


def nearest(given: str, known: Iterable[str], what: str) -> str:
    """The mend for a name that is not known: the nearest one, or all of them."""
    known = list(known)
    near = difflib.get_close_matches(given, known, 1, 0.6)
    return f"did you mean `{near[0]}`?" if near else f"{what} are {names(known)}" if known else f"there are no {what}"
