"""All errors that Holdfast raises on purpose.

::

    HoldfastError
     +-- InvalidInput            an argument cannot be stored or searched for
     |    +-- TextTooLong        a text is over the size limit
     +-- NotFound                no such memory, message, session, change or job in this scope
     +-- Conflict                the same client id with other content, an ended session, an undo of an old change
     |    +-- RevisionConflict   the memory has another revision than the caller expected
     +-- Unauthorized            no access key, or an invalid one
     +-- Forbidden               the access key does not allow the request
     +-- SettingsError           an invalid setting, preset or environment variable
     +-- StoreError              the store failed
     |    +-- StoreForeign       written by another program; left untouched
     |    +-- StoreTooNew        written by a newer Holdfast; left untouched
     |    +-- StoreCorrupt       the file is damaged, or a migration was altered
     |    +-- StoreLocked        the encryption key is missing or wrong
     |    +-- StoreBusy          another process held the write lock for too long
     |    +-- StoreFull          the disk is full
     |    +-- StoreClosed        used after close()
     +-- ModelError              an embedder or chat model failed
          +-- ModelUnknown       no model with that name
          +-- WeightsMissing     the weights are not on this machine
          +-- WeightsCorrupt     a weight file has the wrong checksum
          +-- WeightsUnavailable the weights could not be downloaded
          +-- ExtraMissing       a package of an extra is not installed
          +-- KeyMissing         the provider's API key is missing or was rejected
          +-- ModelUnavailable   no response: no connection, a timeout, an overloaded or broken server
          |    +-- ModelBusy     rate limited (429); ``retry_after`` is the wait in seconds, if known
          +-- NoChatModel        a reply needs a chat model and none is configured
          +-- NoTranscriber      a recording needs a transcriber and none is configured
          +-- AnswerInvalid      the model's output could not be parsed
          +-- SpendLimit         the spending limit for models is reached

Each class has a stable ``code`` that the command line and the HTTP server print.
"""

from collections.abc import Sequence
from typing import ClassVar


class HoldfastError(Exception):
    """Base class of all errors. ``code`` never changes between releases."""

    code: ClassVar[str] = "error"


class InvalidInput(HoldfastError, ValueError):
    """An argument cannot be stored or searched for."""

    code = "invalid_input"


class TextTooLong(InvalidInput):
    """A text is over the size limit."""

    code = "text_too_long"


class NotFound(HoldfastError, LookupError):
    """The item does not exist in this scope. Ids that belong to other scopes raise the same error as ids that do not exist."""

    code = "not_found"


class Conflict(HoldfastError):
    """The request contradicts data that is already stored."""

    code = "conflict"


class RevisionConflict(Conflict):
    """The memory has another revision than ``if_revision`` names. Nothing was changed."""

    code = "revision_conflict"

    def __init__(self, message: str, *, expected: int, current: int) -> None:
        super().__init__(message)
        self.expected = expected
        self.current = current
        """The memory's current revision."""


class Unauthorized(HoldfastError):
    """The access key is missing, unknown, revoked or expired."""

    code = "unauthorized"


class Forbidden(HoldfastError):
    """The access key is valid but does not allow the request."""

    code = "forbidden"


class SettingsError(HoldfastError):
    """A setting, preset or environment variable is invalid."""

    code = "settings"


class StoreError(HoldfastError):
    """The store failed, or does not support the request."""

    code = "store"


class StoreForeign(StoreError):
    """The file was written by another program. It was left untouched."""

    code = "store_foreign"


class StoreTooNew(StoreError):
    """The store was written by a newer Holdfast. It was left untouched."""

    code = "store_too_new"


class StoreCorrupt(StoreError):
    """The store's file is damaged."""

    code = "store_corrupt"


class StoreLocked(StoreError):
    """The store is encrypted, and the key is missing or wrong."""

    code = "store_locked"


class StoreBusy(StoreError):
    """Another process held the write lock for longer than the busy timeout."""

    code = "store_busy"


class StoreFull(StoreError):
    """The disk is full. Reading, forgetting and erasing still work."""

    code = "store_full"


class StoreClosed(StoreError):
    """The store was used after it was closed."""

    code = "store_closed"


class ModelError(HoldfastError):
    """An embedder or chat model failed. ``usage`` is the cost of the failed calls."""

    code = "model"

    usage: object = None
    """Usage of the failed calls, a :class:`holdfast.chat.Usage`, or None. Read it with :func:`holdfast.chat.usage_of`."""


class ModelUnknown(ModelError):
    """No model with that name exists."""

    code = "model_unknown"


class WeightsMissing(ModelError):
    """The model's weights are not on this machine."""

    code = "weights_missing"


class WeightsCorrupt(ModelError):
    """A weight file has the wrong checksum."""

    code = "weights_corrupt"


class WeightsUnavailable(ModelError):
    """The weights could not be downloaded from any source."""

    code = "weights_unavailable"


class ExtraMissing(ModelError, ImportError):
    """A package of an extra is not installed. The message names the extra."""

    code = "extra_missing"


class KeyMissing(ModelError):
    """The provider's API key is missing, or the provider rejected it."""

    code = "key_missing"


class ModelUnavailable(ModelError):
    """The model did not respond: no connection, a timeout, an overloaded or broken server."""

    code = "model_unavailable"


class ModelBusy(ModelUnavailable):
    """The provider's rate limit is reached. ``retry_after`` is the wait in seconds, if the provider sent one."""

    code = "model_busy"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoChatModel(ModelError):
    """A reply needs a chat model, and none is configured. The user's message is stored.

    ``context`` is the :class:`holdfast.Context` that a model would have received. ``message_id`` is the id of the stored
    message. ``redacted`` lists the secrets that were replaced in it.
    """

    code = "no_chat_model"

    def __init__(
        self, message: str, *, context: object = None, message_id: str | None = None, redacted: Sequence[object] = ()
    ) -> None:
        super().__init__(message)
        self.context = context
        self.message_id = message_id
        self.redacted = tuple(redacted)


class NoTranscriber(ModelError):
    """A recording needs a transcriber, and none is configured."""

    code = "no_transcriber"


class AnswerInvalid(ModelError):
    """The model's output could not be parsed, not even in part."""

    code = "answer_invalid"


class SpendLimit(ModelError):
    """The spending limit for models is reached."""

    code = "spend_limit"
