"""Measure a reader on text that it was not trained on."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reader import measure
from reader.examples import Example
from reader.schema import BINARY, HEADS, columns

THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
REAL = ("meena", "persuasion", "arena")
"""Sources of real text that are never used for training."""
FALSE_ALARMS = 0.01
Result = dict[str, Any]


class Report:
    """Predictions for all examples, with their labels."""

    def __init__(self, examples: Sequence[Example], scores: np.ndarray, spans: Sequence[tuple[int, int]]) -> None:
        """Store the examples, the scores of all answers, and the predicted spans."""
        self.examples, self.spans = examples, spans
        self.chances = {head: measure.softmax(scores[:, part]) for head, part in columns().items()}
        self.labels = {head: np.array([example.labels.get(head, -1) for example in examples]) for head in HEADS}

    def all(self) -> Result:
        """Return all metrics."""
        groups = self._groups()
        return {
            "thresholds": self.thresholds(),
            "keep": {name: self._keep(rows) for name, rows in groups.items()},
            "heads": {
                name: {head: self._head(head, groups[name]) for head in HEADS if head not in ("consent", "change")}
                for name in ("real", "written")
            },
            "span": {name: self._span(rows) for name, rows in groups.items()},
            "consent": self._consent(),
            "change": self._change(),
            "worth": self._worth(),
        }

    def thresholds(self) -> dict[str, float]:
        """Return the thresholds for keeping a clause and for wishes about memory, chosen on the held-out split ``dev``."""
        keep = self._rows(lambda example: example.split == "dev", "keep")
        consent = self._rows(lambda example: example.split == "dev", "consent")
        alarm = 1 - self.chances["consent"][consent, 0]
        return {
            "keep": measure.best_threshold(self.chances["keep"][keep, 1], self.labels["keep"][keep] == 1),
            "consent": measure.at_false_alarms(alarm, self.labels["consent"][consent] > 0, FALSE_ALARMS)[0],
        }

    def choice(self) -> float:
        """Return the score by which the best run is chosen, on the held-out split ``dev``.

        It is the mean of three numbers: the area under the ROC curve for ``keep``, and the accuracy for ``consent`` and
        ``change``.
        """
        rows = {head: self._rows(lambda example: example.split == "dev", head) for head in ("keep", "consent", "change")}
        keep = measure.auc(self.chances["keep"][rows["keep"], 1], self.labels["keep"][rows["keep"]] == 1)
        rest = [
            (self.chances[head][rows[head]].argmax(axis=1) == self.labels[head][rows[head]]).mean()
            for head in ("consent", "change")
        ]
        return float(np.mean([keep, *rest]))

    def _rows(self, wanted: Callable[[Example], bool], head: str) -> np.ndarray:
        """Return the indexes of the examples that ``wanted`` accepts and that have a label for the question ``head``."""
        has = self.labels[head] >= 0
        return np.array([row for row, example in enumerate(self.examples) if has[row] and wanted(example)], dtype=np.int64)

    def _groups(self) -> dict[str, np.ndarray]:
        """Return the test clauses, grouped by their source."""

        def test(wanted: Callable[[Example], bool]) -> np.ndarray:
            return self._rows(lambda example: example.split == "test" and wanted(example), "act")

        return {
            "real": test(lambda example: example.source in REAL),
            "real, plain draw": test(lambda example: example.source in REAL and example.draw == "plain"),
            **{source: test(lambda example, source=source: example.source == source) for source in REAL},  # type: ignore[misc]
            "written": test(lambda example: example.source not in REAL),
            "written, Spanish": test(lambda example: example.source not in REAL and example.lang == "es"),
        }

    def _keep(self, rows: np.ndarray) -> Result:
        rows = rows[self.labels["keep"][rows] >= 0]
        scores, right = self.chances["keep"][rows, 1], self.labels["keep"][rows] == 1
        found = {f"above {one}": measure.precision_recall(scores > one, right) for one in THRESHOLDS}
        chosen = measure.precision_recall(scores > self.thresholds()["keep"], right)
        return {"n": len(rows), "AUC": measure.auc(scores, right), "at the chosen threshold": chosen, **found}

    def _worth(self) -> Result:
        """Measure how well the answers to ``worth`` and ``keep`` separate judged memories, on the held-out split ``dev``.

        "useful" counts the verdicts ``useful`` and ``minor`` as right, "lasting" only ``useful``.
        """
        rows = self._rows(lambda example: example.split == "dev" and example.labels.keys() == {"worth"}, "worth")
        verdicts, chances, keep = self.labels["worth"][rows], self.chances["worth"][rows], self.chances["keep"][rows, 1]
        found: Result = {"n": len(rows)}
        for name, count in (("useful", 2), ("lasting", 1)):
            right = verdicts < count
            found[name] = {"AUC": measure.auc(chances[:, :count].sum(1), right), "AUC of keep": measure.auc(keep, right)}
        return found

    def _head(self, head: str, rows: np.ndarray) -> Result:
        rows = rows[self.labels[head][rows] >= 0]
        chances, right = self.chances[head][rows], self.labels[head][rows]
        if head in BINARY:
            found = measure.precision_recall(chances[:, 1] > 0.5, right == 1)
            return {**found, "AUC": measure.auc(chances[:, 1], right == 1)}
        return measure.answers(chances, right, HEADS[head])

    def _span(self, rows: np.ndarray) -> Result:
        """Compare predicted and labeled spans, for clauses that should be kept.

        A span is exact if it differs only in spaces and punctuation at its ends.
        """
        kept = [row for row in rows if self.examples[row].span is not None]
        if not kept:
            return {"n": 0}
        exact, shared, whole = [], [], []
        for row in kept:
            example = self.examples[row]
            right = example.span or (0, 0)
            exact.append(_plain(example.text, self.spans[row]) == _plain(example.text, right))
            shared.append(measure.overlap(self.spans[row], right))
            whole.append(measure.overlap((0, len(example.text)), right))
        means = {"exact": exact, "overlap F1": shared, "overlap F1 of the whole clause": whole}
        return {"n": len(kept), **{name: float(np.mean(values)) for name, values in means.items()}}

    def _consent(self) -> Result:
        """Measure how well wishes about memory are recognized, and the share of false alarms on real text.

        The author of the wishes wrote none of the training data.
        """
        rows = self._rows(lambda example: example.source == "consent_unseen", "consent")
        real = self._rows(lambda example: example.split == "test" and example.source in REAL, "consent")
        alarm, right = 1 - self.chances["consent"][rows, 0], self.labels["consent"][rows]
        quiet = 1 - self.chances["consent"][real, 0]
        threshold, recall = measure.at_false_alarms(alarm, right > 0, FALSE_ALARMS)
        found: Result = {"answers": measure.answers(self.chances["consent"][rows], right, HEADS["consent"])}
        found["AUC"] = measure.auc(alarm, right > 0)
        found["recall at 1 % false alarms"] = {"all": recall, "threshold": threshold}
        langs = np.array([self.examples[row].lang for row in rows])
        for lang in ("en", "es"):
            found["recall at 1 % false alarms"][lang] = float((alarm[(right > 0) & (langs == lang)] > threshold).mean())
        tried = {"chosen": self.thresholds()["consent"], **{str(one): one for one in THRESHOLDS}}
        for name, one in tried.items():
            found[f"above {name}"] = {
                "threshold": one,
                "recall": float((alarm[right > 0] > one).mean()),
                **{
                    f"recall of {wish}": _share(alarm[right == HEADS["consent"].index(wish)] > one)
                    for wish in HEADS["consent"][1:]
                },
                "false alarms": float((alarm[right == 0] > one).mean()),
                "false alarms on real text": _share(quiet > one),
            }
        return found

    def _change(self) -> Result:
        """Measure pairs of claims, grouped by how the change is expressed."""
        rows = self._rows(lambda example: example.split == "test", "change")
        chances, right = self.chances["change"][rows], self.labels["change"][rows]
        how = np.array([self.examples[row].how for row in rows])
        found: Result = {"all": measure.answers(chances, right, HEADS["change"])}
        found["right"] = {
            name: {"share": _share((chances.argmax(1) == right)[how == name]), "n": int((how == name).sum())}
            for name in sorted(set(how))
        }
        ends = HEADS["change"].index("ends")
        for one in THRESHOLDS:
            over = chances[:, ends] > one
            found[f"ends above {one}"] = {
                "direct": _share(over[how == "direct"]),
                "sideways": _share(over[how == "sideways"]),
                "look-alikes kept": _share(~over[how == "lookalike"]),
                "wrong among ended": _share((right != ends)[over]),
                "a person's facts, direct": _share(over[how == "person direct"]),
                "a person's facts, sideways": _share(over[how == "person sideways"]),
                "a person's other facts ended": _share(over[how == "person"]),
            }
        return found


def _share(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _plain(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : span[1]].strip(" .,;:!?¡¿…\"'“”()-").casefold()


def spread(results: Sequence[Result]) -> Result:
    """Return the mean and the standard deviation of each metric over several runs."""
    found: Result = {}
    for name, value in results[0].items():
        values = [result[name] for result in results if name in result]
        if isinstance(value, dict):
            found[name] = spread(values)
        else:
            found[name] = {"mean": float(np.mean(values)), "deviation": float(np.std(values))}
    return found


def line(result: Result) -> str:
    """Return the main metrics in one line."""
    keep, consent, change = result["keep"], result["consent"], result["change"]
    parts = [
        f"keep AUC real {keep['real']['AUC']:.3f} plain {keep['real, plain draw']['AUC']:.3f} written {keep['written']['AUC']:.3f}"
    ]
    chosen = keep["real"]["at the chosen threshold"]
    parts.append(f"keep P {chosen['P']:.2f} R {chosen['R']:.2f}")
    if result["worth"]["n"]:
        parts.append(" ".join(f"{name} AUC {result['worth'][name]['AUC']:.3f}" for name in ("useful", "lasting")))
    parts.append(f"span {result['span']['real'].get('exact', 0):.2f}/{result['span']['real'].get('overlap F1', 0):.2f}")
    parts.append(f"consent at 1 % {consent['recall at 1 % false alarms']['all']:.3f}")
    parts.append("change " + " ".join(f"{name} {row['share']:.2f}" for name, row in change["right"].items()))
    heads = result["heads"]["real"]
    parts.append(" ".join(f"{head} {row.get('macro F1', row.get('F1')):.2f}" for head, row in heads.items()))
    return "; ".join(parts)
