"""Find pasted logs, terminal output, code, configuration and data in a message, by lines that programs write or read."""

from collections.abc import Iterator

from holdfast.learning.quotations.chats import paragraphs
from holdfast.runtime.regex import regex

_SECONDS = r"\d{1,2}:\d{2}:\d{2}"
_LOG_LINE = regex(
    rf"\s{{0,8}}(?:[\[(<]?\d{{2,4}}[-/.]\d{{2}}(?:[-/.]\d{{2,4}})?[T ]\d{{1,2}}:\d{{2}}|[\[(]?{_SECONDS}[.,\])\s]"
    rf"|[^\W\d]{{3,5}}\.? {{1,2}}\d{{1,2}} {_SECONDS} |\[?1\d{{9}}(?:\.\d{{1,9}})?\]?:?\s|[IWEF]\d{{4}} {_SECONDS}"
    r"|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\s"
    r"|\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b[\])]?[:\s]"
    r"|at [\w.$<>]+\([^)\n]{0,200}\)\s*$|File \"[^\"\n]{1,300}\", line \d+|Traceback \(most recent|Caused by:|goroutine \d+ \[|panic: "
    r"|thread '[^'\n]{1,80}' panicked|note: run with |exit (?:status|code) \d|process exited with|segmentation fault"
    r"|\w+(?:\.\w+)*(?:Error|Exception)\b.{0,5}:?|npm (?:ERR!|WARN\b|error\b|warn\b)|E  {2,}"
    r"|\$ \w|PS [A-Z]:\\|[A-Z]:\\[^>\n]{0,120}>|[\w.-]{1,40}@[\w.-]{1,60}:\S{0,120}[$#]|>>> \S|In \[\d+\]:|[│┃╷╵└├]"
    r"|[\w.|-]{1,40} {1,20}\| |[\w./\\-]{1,200}\.\w{1,6}:\d+(?::\d+)?:? ?(?:\w+:)?"
    r"|[\w.-]{1,30}=(?:\"[^\"\n]{0,300}\"|\S{1,200})\s+[\w.-]{1,30}=\S)"
)
"""Matches a line with a time to the second, a log level, a program's name, a shell prompt, or a position in a source file."""
_CODE_LINE = regex(
    r"\s{0,40}(?:def \w+\(.*\)?.*:\s*$|class \w+.*[:{]\s*$|(?:import|from) [\w.]+(?: import .+)?;?\s*$|(?:const|let|var) \w+ ?=|function \w*\(.*"
    r"|public |private |#include\b|return\b.*;?\s*$|\}?\s?else ?\{?\s*$|(?:if|for|while) ?\(.*\)\s?\{\s*$|[\]}){(;]{1,4},?;?\s*$"
    r"|SELECT .+ FROM\b.*"
    r"|[\w.]+\(.*\);\s*$|[\w.\[\]]+ [+*-]?= .+;\s*$|</?\w[^>]*>.*</?\w+>\s*$|\"[\w-]+\" ?: .+,?\s*$|[\w-]+: .+;\s*$)"
)
_MARKED_LINE = regex(
    r"[ ]{0,40}(?:[●○▶✓✗✔✘★☆] ?\S|\\\w+[\[{]|[A-Z][A-Z-]{1,24}[:;]\S|[\w ]{1,30}:\s{2,}\S|</?[a-zA-Z][\w-]*[^<>\n]{0,300}>|[\w.-]+=\S|(?:[\w:<>*&]{1,30} ){0,3}[\w.\[\]]+ ?:?= ?(?:['\"\[{(\d&]|[\w:.]+\()"
    r"|(?:echo|export|sudo|cd|exit|apt|apt-get|pip|npm|yarn|git|docker|kubectl|curl|chmod|mkdir|RUN|ENV|FROM|COPY|CMD|EXPOSE|WORKDIR|ENTRYPOINT) [\w\"'$./:-]|\.\. \w+::|\t\S"
    r"|[\w.:!]+\(.{0,300}\)[;,]?\s*$|#\d+ |Stack trace:|(?:FAILED|PASSED|PASS|FAIL|not ok) |\d+ (?:failed|passed|errors?|warnings?)\b|[.#@]?[\w-]+ \{\s*$|[})\]];?\s*$"
    r"|from \S+\.\w{1,5}:\d|\S.{0,200}(?:\.\w{1,5}:\d+\b|[A-Z]\w*(?:Error|Exception):)| {4,40}[\w-]+: \S"
    r"|(?:INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|ALTER TABLE|DROP TABLE|GRANT) .+;\s*$"
    r"|(?!(?:I|My|We|Our|Mi|Mis|Yo|Tengo|i|my|we|our|mi|mis|yo|tengo)\b)\S.{0,200}(?:/[\w.-]+){3})"
)
"""Matches a line that contains a sign of code, markup or terminal output, or a path outside a sentence in the first person."""
_DATED_LOG_LINE = regex(
    rf"\s{{0,8}}\[?\d{{4}}[-/.]\d{{2}}[-/.]\d{{2}}[T ]{_SECONDS}\S*\s{{1,4}}\S{{0,40}}\s{{0,4}}\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL|CRITICAL|SEVERE)"
)
"""Matches a line that nobody writes by hand, so that one such line is enough: date, time to the second, and log level."""
_COMMENT = regex(r"\s{0,40}(?:#|//|--|/\*|\*) ?\S")
_DATA_LINE = regex(
    r"\s{0,40}(?:\{.*[:=].*\},?\s*$|\[.*\{.*\}.*\]\s*$|\|.*\|\s*$|[^,;\t\n]{1,80}(?:(?:,[^\s,][^,\n]{0,80}){2,60}|(?:;[^\s;][^;\n]{0,80}){2,60})\s*$|[^\t\n]{1,80}(?:\t[^\t\n]{0,80}){1,60}$)"
)
"""Matches a line of JSON, of a Markdown table, or of values separated by commas or tabs."""
_SETTING = regex(
    r"(?:\[[\w. \"-]{1,60}\]\s*$|[\w.-]{1,40} ?= ?\S.*$)|\s*[\w.-]{1,40}:\s*$| {1,40}(?:- )?[\w.-]{1,40}: \S.*$| {1,40}- \S.*$"
)
"""Matches a line of a configuration file: a section, a name and its value, or an indented item."""
_SECTION = regex(r"(?:\[[\w. \"-]{1,60}\]|[\w.-]{1,40}:)\s*$")
_DIFF = regex(r"(?:diff --git |@@ -\d|--- \S|\+\+\+ \S|index [0-9a-f]{6,})")
_CUE = regex(r"\s{0,4}(?:\d{1,2}:)?\d{1,2}:\d{2}[.,]\d{2,3} --> ")
"""Matches the line with start and end time above a subtitle."""
_MARK = regex(r"[^\w\s,.'’!?¿¡-]|\d|_|,\S|^\s{4}|\t|^(?:npm|FAILED|PASSED|echo|export|sudo|cd|exit|git|RUN|ENV|FROM|COPY) |ERR")
"""Matches a character or a word that is rare in prose. It is searched first, because the other patterns are slower."""
_CODE_WORD = regex(r"\s{0,40}(?:import \w+\s*$|return\b.{0,60}$|(?:public|private) |else\s*$)")
_MAX_LINE = 600
_MIN_WEIGHT = 5
"""Minimum total weight (see :func:`_weight`) of lines in a row that count as machine text.

For example, two log lines (3 each) or three lines of code (2 each) are enough. Fewer lines may be an example in a sentence.
"""


def machine_text(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of logs, terminal output, code, configuration, data and subtitles."""
    yield from _runs(lines)
    for start, end in paragraphs(lines):
        found = [at for at in range(start, end) if _DIFF.match(lines[at])]
        if len(found) > 1:
            yield found[0], end
        yield from _configuration(lines, start, end)
        cue = next((at for at in range(start, end) if _CUE.match(lines[at])), None)
        if cue is not None:
            yield max(start, cue - 1) if cue and lines[cue - 1].strip().isdigit() else cue, end


def _runs(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of machine text. A range includes the ordinary lines between its lines of machine text.

    The weights of the lines in a range (see :func:`_weight`) must add up to at least ``_MIN_WEIGHT``. Comments directly above
    the first line belong to the range. A single blank line does not end a range if machine text follows. If a range ends with
    a log line, the rest of the paragraph belongs to the range.
    """
    found = [(at, weight) for at, line in enumerate(lines) if (weight := _weight(line[:_MAX_LINE]))]
    while found:
        run = [found.pop(0)]
        while found and not _apart(lines, run[-1][0], found[0][0]):
            run.append(found.pop(0))
        if sum(weight for _, weight in run) >= _MIN_WEIGHT:
            first, last = run[0][0], run[-1][0]
            while first and _COMMENT.match(lines[first - 1]):
                first -= 1
            blank = next((at for at in range(last, len(lines)) if not lines[at].strip()), len(lines))
            yield first, blank if _LOG_LINE.match(lines[last]) else last + 1


def _weight(line: str) -> int:
    """Return how clearly a line is machine text: 0, 2, 3 or ``_MIN_WEIGHT``.

    The weight is ``_MIN_WEIGHT`` for a log line with a date, a time and a level. It is 3 for any other log line, for a line
    of data, and for a line with a clear sign, such as markup or a path. It is 2 for other lines of code, and 0 for ordinary
    text.
    """
    if not _MARK.search(line):
        return 2 if _CODE_WORD.match(line) else 0
    if _DATED_LOG_LINE.match(line):
        return _MIN_WEIGHT
    if _LOG_LINE.match(line) or _DATA_LINE.match(line) or _MARKED_LINE.match(line):
        return 3
    return 2 if _CODE_LINE.match(line) else 0


def _apart(lines: list[str], last: int, following: int) -> bool:
    """Return True if two lines, given by their line numbers, do not belong together.

    They do not belong together if at least two lines are between them and one of these is blank.
    """
    between = lines[last + 1 : following]
    return any(not line.strip() for line in between) and len(between) > 1


def _configuration(lines: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the line range of a configuration file in the paragraph from line ``start`` to line ``end``, if there is one.

    A configuration file is a section header and at least two settings. After the header, at most one line may be something
    other than a setting. Under a header that ends with a colon, the settings must be indented.
    """
    first = next((at for at in range(start, end) if _SECTION.match(lines[at])), None)
    if first is None:
        return
    indented = lines[first].rstrip().endswith(":")
    inside = [at for at in range(first + 1, end) if _SETTING.match(lines[at]) and (not indented or lines[at][:1].isspace())]
    if len(inside) > 1 and len(inside) >= end - first - 2 and (not indented or any(": " in lines[at] for at in inside)):
        yield first, inside[-1] + 1
