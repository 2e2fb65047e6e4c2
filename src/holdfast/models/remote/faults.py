"""What a failed call means: which error it comes to, what a person can do, and whether to call again."""

import json
import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.errors import AnswerInvalid, KeyMissing, ModelBusy, ModelError, ModelUnavailable, ModelUnknown
from holdfast.models.remote.http import as_mapping, http_library, well_formed
from holdfast.models.remote.retrying import Fault, read_retry_after

__all__ = ["Service", "error_fault", "failures"]

_RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429})
_MAX_MESSAGE_CHARACTERS: Final = 200
_TAG: Final = re.compile(r"<[^>]*>")
_NO_CREDIT: Final = ("insufficient_quota", "billing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A model at an address, and what to tell people who cannot reach it."""

    name: str
    model: str
    base_url: str
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    when_unknown: str = "See the provider's list of models."
    when_unreachable: str = "Is the network up, and the address right?"

    def hide_key(self, text: str) -> str:
        """Return a server's words without the key, which some repeat."""
        return text.replace(self.key, "***") if self.key else text


@contextmanager
def failures(service: Service, sdk: Any) -> Iterator[None]:
    """Turn whatever goes wrong inside into a :class:`Fault`."""
    library = http_library(sdk)
    base = getattr(sdk, "OpenAIError", None) or sdk.AnthropicError
    try:
        yield
    except ModelError as error:
        raise Fault(error) from error.__cause__
    except (sdk.APITimeoutError, library.TimeoutException) as error:
        message = f"{service.name} at {service.base_url} did not answer in time."
        raise Fault(ModelUnavailable(message), again=True) from error
    except sdk.APIStatusError as error:
        raise _status_fault(service, error) from error
    except (sdk.APIConnectionError, library.HTTPError, library.StreamError, ssl.SSLError, OSError) as error:
        message = f"{service.name} cannot be reached at {service.base_url}: {_reason(error)}. {service.when_unreachable}"
        raise Fault(ModelUnavailable(service.hide_key(message)), again=True) from error
    except (library.InvalidURL, UnicodeError) as error:
        raise Fault(ModelError(f"{service.base_url!r} is not an address that can be called: {error}")) from error
    except base as error:
        raise Fault(AnswerInvalid(f"{service.name} gave an answer that could not be used: {short(str(error))}")) from error


def error_fault(service: Service, complaint: Any) -> Fault:
    """Return the fault of an error that came in the middle of a streamed answer."""
    said = service.hide_key(error_text({"error": complaint}))
    kind = str(as_mapping(complaint).get("type") or as_mapping(complaint).get("code") or "")
    message = f"{service.name} broke off its answer: {said or 'it gave no reason'}"
    if "overloaded" in kind or "rate_limit" in kind:
        return Fault(ModelBusy(message), again=True, said=said)
    return Fault(ModelUnavailable(message), again=True, said=said)


def _status_fault(service: Service, error: Any) -> Fault:
    status = int(error.status_code)
    said = service.hide_key(error_text(error.body))
    told = f" It said: {said}" if said else ""
    if status in (401, 403):
        return Fault(KeyMissing(f"{service.name} refused the key. {_which_key(service)}{told}"), status=status, said=said)
    if status == 404:
        unknown = f"{service.base_url} knows no model {service.model!r}, or the address is wrong. {service.when_unknown}{told}"
        return Fault(ModelUnknown(unknown), status=status, said=said)
    if status < 400:
        place = error.response.headers.get("location", "elsewhere")
        return Fault(ModelError(f"{service.base_url} redirects to {short(place)}; use that address."), status=status, said=said)
    if status in _RETRYABLE_STATUS or status >= 500:
        return _passing_fault(service, error, status=status, said=said)
    return Fault(ModelError(f"{service.name} refused the question ({status}).{told}"), status=status, said=said)


def _passing_fault(service: Service, error: Any, *, status: int, said: str) -> Fault:
    """Return the fault of what may be over soon; of an empty account, that calling again does not help."""
    wait = read_retry_after(error.response.headers)
    told = f" It said: {said}" if said else ""
    body = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
    if status != 429:
        message = f"{service.name} failed ({status}); try again later.{told}"
        return Fault(ModelUnavailable(message), again=True, retry_after=wait, status=status, said=said)
    if any(word in body for word in _NO_CREDIT):
        return Fault(ModelBusy(f"The account for {service.name} has no credit left.{told}", retry_after=wait), status=status)
    busy = ModelBusy(f"{service.name} asks to wait; try again later.{told}", retry_after=wait)
    return Fault(busy, again=True, retry_after=wait, status=status, said=said)


def _which_key(service: Service) -> str:
    return f"Set {service.key_variable} to a valid one." if service.key_variable else "Give a valid one as api_key."


def error_text(body: Any) -> str:
    """Return what a server said in an error's body, in one short line."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        for place in (as_mapping(inner).get("message"), body.get("message"), body.get("detail"), inner):
            if isinstance(place, str) and place.strip():
                return short(place)
        return short(json.dumps(body, default=str, ensure_ascii=False)) if body else ""
    return short(_TAG.sub(" ", body[:4000])) if isinstance(body, str) else ""


def short(text: str) -> str:
    """Return a text in one line of bounded length."""
    line = " ".join(well_formed(text[:4000]).split())
    return line if len(line) <= _MAX_MESSAGE_CHARACTERS else line[: _MAX_MESSAGE_CHARACTERS - 3] + "..."


def _reason(error: BaseException) -> str:
    """Return the innermost reason: a package says only that a connection failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return short(str(error) or type(error).__name__).rstrip(".")
