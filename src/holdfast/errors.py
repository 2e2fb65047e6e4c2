"""Every error Holdfast raises on purpose.

::

    HoldfastError
     +-- InvalidInput            the caller passed something that cannot be stored or asked
     |    +-- TextTooLong        a text over the size limit
     +-- NotFound                no such memory, message, session, change or job in this scope
     +-- Conflict                the same client id with other content, an ended session, a stale undo
     +-- Unauthorized            no key, or one that does not count
     +-- Forbidden               a key that may not do this
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
          +-- ExtraMissing       a package this model needs is not installed
          +-- KeyMissing         the provider's key is missing or refused
          +-- ModelUnavailable   no answer: no connection, a timeout, an overloaded or broken server
          |    +-- ModelBusy     asked to wait (429); ``retry_after`` says how long, where known
          +-- NoChatModel        a reply was wanted and no chat model is set
          +-- NoTranscriber      a recording came and nothing is set that turns speech into text
          +-- AnswerInvalid      an answer that nothing usable could be read from
          +-- SpendLimit         the limit set for models has been reached

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


class Unauthorized(HoldfastError):
    """No key was given where one is needed, or one that is unknown, revoked or expired."""

    code = "unauthorized"


class Forbidden(HoldfastError):
    """The key is good, but gives no right to do this."""

    code = "forbidden"


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
    """An embedder or chat model cannot do what was asked; ``usage`` is what the failed calls cost."""

    code = "model"

    usage: object = None
    """A :class:`holdfast.chat.Usage` or None; read it with :func:`holdfast.chat.usage_of`."""


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


class ExtraMissing(ModelError):
    """A package this model needs is not installed."""

    code = "extra_missing"


class KeyMissing(ModelError):
    """The provider's key is missing, or the provider refused it."""

    code = "key_missing"


class ModelUnavailable(ModelError):
    """The model gave no answer: no connection, a timeout, an overloaded or broken server."""

    code = "model_unavailable"


class ModelBusy(ModelUnavailable):
    """The provider asked to wait; ``retry_after`` says how many seconds, where it told."""

    code = "model_busy"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NoChatModel(ModelError):
    """A reply was wanted, and no chat model is set; what was said is kept.

    ``context`` is what a model would have been told, a :class:`holdfast.types.Context`; ``message_id`` is the message kept.
    """

    code = "no_chat_model"

    def __init__(self, message: str, *, context: object = None, message_id: str | None = None) -> None:
        super().__init__(message)
        self.context = context
        self.message_id = message_id


class NoTranscriber(ModelError):
    """A recording came, and nothing is set that turns speech into text."""

    code = "no_transcriber"


class AnswerInvalid(ModelError):
    """The model's answer could not be used, not even in part."""

    code = "answer_invalid"


class SpendLimit(ModelError):
    """The limit set for what models may cost has been reached."""

    code = "spend_limit"
