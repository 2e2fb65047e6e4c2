// "Why was this not recalled?": what happens to a memory when a question is asked.

import { post } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { t } from "../i18n.js";
import { memoryLink, reasons } from "../parts.js";
import { attempt } from "../ui.js";
import { candidateLists } from "./traces.js";

/** A form for a question, and the explanation below it. */
export function explainBox(path) {
  const input = h("input", {
    type: "search",
    placeholder: t("explain.placeholder"),
    "aria-label": t("explain.placeholder"),
    maxlength: "2000",
    required: true,
    enterkeyhint: "search",
  });
  const ask = h("button.button", { type: "submit", dataset: { action: "explain" } }, t("explain.ask"));
  const result = h("div.explanation", { "aria-live": "polite" });
  const onsubmit = (event) => {
    event.preventDefault();
    const query = input.value.trim();
    if (!query) return;
    attempt(ask, async () => replace(result, explanation(await post(`${path}/explain`, { query }))));
  };
  return h(
    "section.explain",
    {},
    h("h2", {}, t("explain.title")),
    h("form.explain-form", { onsubmit }, input, ask),
    result,
  );
}

function explanation(found) {
  const { candidate, trace, outcome } = found;
  return [
    h(
      "p.verdict",
      { class: outcome === "shown" ? "is-shown" : "", dataset: { outcome } },
      icon(outcome === "shown" ? "check" : "warn", 18),
      h("span", {}, h("strong", {}, t(`outcome.${outcome}`)), " ", t(`outcome.why.${outcome}`)),
    ),
    candidate.rank && h("p", {}, t("explain.rank", { rank: candidate.rank, n: trace.found })),
    candidate.repeats && h("p", {}, h("a", { href: memoryLink(candidate.repeats) }, t("trace.repeats"))),
    found.replaced_by && h("p", {}, h("a", { href: memoryLink(found.replaced_by) }, t("memory.successor"))),
    candidate.why.length > 0 && reasons(candidate),
    h("details", {}, h("summary", {}, t("explain.others")), candidateLists(trace)),
  ];
}
