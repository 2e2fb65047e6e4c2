"""Maps failed calls to errors that say what to do, and decides whether a retry may help."""

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
from holdfast.types.translatable import translatable

__all__ = ["Service", "error_fault", "failures"]

_RETRYABLE_STATUS: Final = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 for which a retry may help."""
_MAX_MESSAGE_CHARACTERS: Final = 200
"""Maximum number of characters quoted from a server's message."""
_TAG: Final = re.compile(r"<[^>]*>")
_NO_CREDIT: Final = ("insufficient_quota", "billing")
"""Words that, in the body of a 429 response, mean that the account has no credit left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A model and the URL that serves it, with advice for error messages."""

    name: str
    model: str
    base_url: str
    key: str | None = field(default=None, repr=False)
    key_variable: str | None = None
    when_unknown: str = translatable("model.list", "See the provider's list of models.")
    when_unreachable: str = translatable("model.network", "Check the network and the URL.")

    def hide_key(self, text: str) -> str:
        """Return a text with the API key masked. Some servers repeat the key in error messages."""
        return text.replace(self.key, "***") if self.key else text


@contextmanager
def failures(service: Service, sdk: Any) -> Iterator[None]:
    """Context manager: convert exceptions of the provider's package and its HTTP library to a :class:`Fault`."""
    library = http_library(sdk)
    base = getattr(sdk, "OpenAIError", None) or sdk.AnthropicError
    try:
        yield
    except ModelError as error:
        raise Fault(error) from error.__cause__
    except (sdk.APITimeoutError, library.TimeoutException) as error:
        message = translatable(
            "model.timeout", "{name} at {url} did not respond within the timeout.", name=service.name, url=service.base_url
        )
        raise Fault(ModelUnavailable(message), retryable=True) from error
    except sdk.APIStatusError as error:
        raise _status_fault(service, error) from error
    except (sdk.APIConnectionError, library.HTTPError, library.StreamError, ssl.SSLError, OSError) as error:
        raise Fault(ModelUnavailable(unreachable(service, _reason(error))), retryable=True) from error
    except (library.InvalidURL, UnicodeError) as error:
        raise Fault(ModelError(f"{service.base_url!r} is not a valid URL: {error}")) from error
    except base as error:
        raise Fault(AnswerInvalid(f"{service.name} returned an unusable response: {short(str(error))}")) from error


def error_fault(service: Service, detail: Any) -> Fault:
    """Return the fault for an error event in the middle of a streamed reply. ``detail`` is the error as the server sent it."""
    server_message = service.hide_key(error_text({"error": detail}))
    kind = str(as_mapping(detail).get("type") or as_mapping(detail).get("code") or "")
    message = f"{service.name} broke off its reply: {server_message or 'no reason given'}"
    if "overloaded" in kind or "rate_limit" in kind:
        return Fault(ModelBusy(message), retryable=True, server_message=server_message)
    return Fault(ModelUnavailable(message), retryable=True, server_message=server_message)


def unreachable(service: Service, reason: str) -> str:
    """Return the error message for a server that accepts no connection."""
    return translatable(
        "model.unreachable",
        "{name} cannot be reached at {url}: {reason}. {advice}",
        name=service.name,
        url=service.hide_key(service.base_url),
        reason=service.hide_key(reason),
        advice=service.when_unreachable,
    )


def _status_fault(service: Service, error: Any) -> Fault:
    status = int(error.status_code)
    server_message = service.hide_key(error_text(error.body))
    quote = _quote(server_message)
    if status in _RETRYABLE_STATUS or status >= 500:
        return _temporary_fault(service, error, status=status, server_message=server_message)
    failure: ModelError
    if status in (401, 403):
        text = translatable(
            "model.key_rejected",
            "{name} rejected the key. {advice}{quote}",
            name=service.name,
            advice=_which_key(service),
            quote=quote,
        )
        failure = KeyMissing(text)
    elif status == 404:
        text = translatable(
            "model.not_there",
            "{url} has no model {model!r}, or the URL is wrong. {advice}{quote}",
            url=service.base_url,
            model=service.model,
            advice=service.when_unknown,
            quote=quote,
        )
        failure = ModelUnknown(text)
    elif status < 400:
        target = error.response.headers.get("location", "another URL")
        failure = ModelError(f"{service.base_url} redirects to {short(target)}. Use that URL instead.")
    else:
        text = translatable(
            "model.rejected", "{name} rejected the request ({status}).{quote}", name=service.name, status=str(status), quote=quote
        )
        failure = ModelError(text)
    return Fault(failure, status=status, server_message=server_message)


def _temporary_fault(service: Service, error: Any, *, status: int, server_message: str) -> Fault:
    """Return the fault for a temporary failure. The fault is marked as retryable, unless the account has no credit left."""
    wait = read_retry_after(error.response.headers)
    quote = _quote(server_message)
    body = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
    if status != 429:
        text = translatable(
            "model.failed",
            "{name} failed ({status}). Try again later.{quote}",
            name=service.name,
            status=str(status),
            quote=quote,
        )
        failure: ModelError = ModelUnavailable(text)
        return Fault(failure, retryable=True, retry_after=wait, status=status, server_message=server_message)
    if any(word in body for word in _NO_CREDIT):
        text = translatable(
            "model.no_credit", "The account for {name} has no credit left.{quote}", name=service.name, quote=quote
        )
        return Fault(ModelBusy(text, retry_after=wait), status=status)
    text = translatable(
        "model.rate", "{name} limits the rate of requests. Try again later.{quote}", name=service.name, quote=quote
    )
    failure = ModelBusy(text, retry_after=wait)
    return Fault(failure, retryable=True, retry_after=wait, status=status, server_message=server_message)


def _quote(server_message: str) -> str:
    return translatable("model.quote", " Server message: {text}", text=server_message) if server_message else ""


def _which_key(service: Service) -> str:
    if service.key_variable is None:
        return translatable("model.pass_key", "Pass a valid key as api_key.")
    return translatable("model.set_key", "Set {variable} to a valid key.", variable=service.key_variable)


def error_text(body: Any) -> str:
    """Return the error message in a response body, as one short line."""
    if isinstance(body, Mapping):
        inner = body.get("error")
        for place in (as_mapping(inner).get("message"), body.get("message"), body.get("detail"), inner):
            if isinstance(place, str) and place.strip():
                return short(place)
        return short(json.dumps(body, default=str, ensure_ascii=False)) if body else ""
    return short(_TAG.sub(" ", body[:4000])) if isinstance(body, str) else ""


def short(text: str) -> str:
    """Return a text as one line, truncated to the maximum length of a quoted message."""
    line = " ".join(well_formed(text[:4000]).split())
    return line if len(line) <= _MAX_MESSAGE_CHARACTERS else line[: _MAX_MESSAGE_CHARACTERS - 3] + "..."


def _reason(error: BaseException) -> str:
    """Return the message of an exception's innermost cause. The exception itself says only that the connection failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return short(str(error) or type(error).__name__).rstrip(".")
