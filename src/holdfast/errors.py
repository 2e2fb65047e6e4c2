"""Every error Holdfast raises on purpose.

::

    HoldfastError
     +-- InvalidInput            the caller passed something that cannot be stored or asked
     |    +-- TextTooLong        a text over the size limit
     +-- NotFound                no such memory, message, session, change or job in this scope
     +-- Conflict                the same client id with other content, an ended session, a stale undo
     +-- SettingsError           a setting, preset or environment variable that makes no sense
     +-- StoreError              the store cannot do what was asked
     |    +-- StoreTooNew        written by a newer Holdfast; left untouched
     |    +-- StoreCorrupt       the file is damaged, or a migration was altered
     |    +-- StoreLocked        the key is missing or wrong
     |    +-- StoreBusy          another process held the write lock for too long
     |    +-- StoreClosed        used after close()
     +-- ModelError              an embedder or chat model
          +-- ModelUnknown       no model of that name
          +-- WeightsMissing     the weights are not on this machine
          +-- WeightsCorrupt     a weight file is not what its publisher made
          +-- WeightsUnavailable the weights could not be fetched

Each class has a stable ``code`` that the command line and the HTTP server print.
"""

from typing import ClassVar


class HoldfastError(Exception):
    """The base of all errors; ``code`` never changes between releases."""

    code: ClassVar[str] = "error"


class InvalidInput(HoldfastError, ValueError):
    """The caller passed something that cannot be stored or asked."""

    code = "invalid_input"


class TextTooLong(InvalidInput):
    """A text is over the size limit."""

    code = "text_too_long"


class NotFound(HoldfastError, LookupError):
    """No such thing in this scope; a foreign id looks exactly like an absent one."""

    code = "not_found"


class Conflict(HoldfastError):
    """What was asked contradicts what is already stored."""

    code = "conflict"


class SettingsError(HoldfastError):
    """A setting, preset or environment variable makes no sense."""

    code = "settings"


class StoreError(HoldfastError):
    """The store cannot do what was asked."""

    code = "store"


class StoreTooNew(StoreError):
    """The file was written by a newer Holdfast and has been left untouched."""

    code = "store_too_new"


class StoreCorrupt(StoreError):
    """The file is damaged."""

    code = "store_corrupt"


class StoreLocked(StoreError):
    """The file is encrypted and the key is missing or wrong."""

    code = "store_locked"


class StoreBusy(StoreError):
    """Another process held the write lock for longer than the busy timeout."""

    code = "store_busy"


class StoreClosed(StoreError):
    """The store was used after it was closed."""

    code = "store_closed"


class ModelError(HoldfastError):
    """An embedder or chat model cannot do what was asked."""

    code = "model"


class ModelUnknown(ModelError):
    """No model of that name is known."""

    code = "model_unknown"


class WeightsMissing(ModelError):
    """The model's weights are not on this machine."""

    code = "weights_missing"


class WeightsCorrupt(ModelError):
    """A weight file is not what its publisher made."""

    code = "weights_corrupt"


class WeightsUnavailable(ModelError):
    """The weights could not be fetched from any carrier."""

    code = "weights_unavailable"
