// Traces: how each context block was built. A list, and the page of one trace.

import { get, getHere, part } from "../api.js";
import { h, icon } from "../dom.js";
import { dateTime, number, t } from "../i18n.js";
import { memoryLink, notices, reasons, sessionLink } from "../parts.js";
import { chip, empty, endless, head, kindChip, link, load, meter, when } from "../ui.js";
import { traceLink } from "./trace-links.js";

const ms = (value) => t("trace.ms", { n: number(value, { maximumFractionDigits: value < 10 ? 1 : 0 }) });
const figure = (value) => number(value, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

export function view(route, signal) {
  return { node: route.parts[0] ? one(route.parts[0], signal) : overview(signal) };
}

function overview(signal) {
  const ask = (offset) => getHere("/v1/traces", { limit: 50, offset }, signal);
  const none = () => empty(t("traces.empty.title"), t("traces.empty.body"), { name: "search" });
  return h("div.page", {}, head(t("nav.traces"), t("traces.lead")), endless(ask, row, { signal, whenEmpty: none }));
}

function row(trace) {
  return h(
    "a.row",
    { href: traceLink(trace.id), "data-row": true },
    h("span.memory-text", { dir: "auto" }, trace.question || t("trace.noQuestion")),
    h(
      "div.marks",
      {},
      h("span", {}, t("trace.shown", { n: trace.shown })),
      h("span", {}, t("trace.candidates", { n: trace.found })),
      h("span", {}, ms(trace.milliseconds)),
      trace.user && chip(trace.user, { class: "user" }),
      trace.app && chip(trace.app, { class: "app" }),
      when(trace.at),
    ),
  );
}

function one(id, signal) {
  const box = h("div");
  const fetchIt = () => get(`/v1/traces/${part(id)}`, {}, signal);
  load(box, fetchIt, draw, { rows: 6, shape: "line", signal });
  return h("div.page", {}, h("a.crumb", { href: "#/traces" }, icon("back", 16), t("nav.traces")), box);
}

function draw(trace) {
  return h(
    "article.trace",
    {},
    h("h1", { dir: "auto", tabindex: "-1" }, trace.question || t("trace.noQuestion")),
    h(
      "div.marks",
      {},
      trace.user && chip(trace.user, { class: "user" }),
      trace.app && chip(trace.app, { class: "app" }),
      trace.agent && chip(trace.agent),
      h("span", {}, dateTime(trace.at)),
      h("code.quiet", {}, trace.id),
    ),
    trace.session &&
      link(t("trace.conversation"), sessionLink(trace.session, trace.message), { name: "sessions", class: "quiet" }),
    notices(trace),
    figures(trace),
    candidateLists(trace),
  );
}

/** The numbers of a trace as bars: where the time went, which search found what, and how full the block is. */
function figures(trace) {
  const arms = Object.entries(trace.arms ?? {}).sort(([, a], [, b]) => b - a);
  const found = arms.map(([arm, n]) => ({ name: armName(arm), from: 0, size: n, value: number(n) }));
  const full = t("trace.tokensOf", { n: number(trace.tokens), max: number(trace.max_tokens) });
  return h(
    "div.trace-figures",
    {},
    bars(t("trace.time"), ms(trace.milliseconds), timeBars(trace), trace.milliseconds),
    bars(t("trace.found"), number(trace.found), found, Math.max(1, ...arms.map(([, n]) => n))),
    bars(
      t("trace.tokens"),
      full,
      [{ name: t("trace.block"), from: 0, size: trace.tokens, value: "" }],
      trace.max_tokens,
    ),
    h("p.quiet", {}, t("trace.preset"), ": ", [trace.preset, trace.embedder || t("trace.noEmbedder")].join(" · ")),
  );
}

const STEPS = ["models", "search", "rerank"];

/** The steps one after another, each where it began, and what is left of the time at the end. */
export function timeBars({ steps = {}, milliseconds }) {
  let from = 0;
  const made = STEPS.filter((name) => (steps[name] ?? 0) >= 0.05).map((name) => {
    const bar = { name: t(`trace.step.${name}`), from, size: steps[name], value: ms(steps[name]) };
    from += steps[name];
    return bar;
  });
  const rest = milliseconds - from;
  return rest >= 0.05 ? [...made, { name: t("trace.step.rest"), from, size: rest, value: ms(rest) }] : made;
}

/** A small chart with one bar per row. `whole` is the length of the axis. */
function bars(title, total, rows, whole) {
  const share = (value) => `${Math.max(0, Math.min(100, (value / (whole || 1)) * 100)).toFixed(2)}%`;
  return h(
    "section.trace-bars",
    {},
    h("h2", {}, title, " ", h("b", {}, total)),
    h(
      "ul",
      {},
      rows.map((row) =>
        h(
          "li",
          {},
          h("span", {}, row.name),
          h(
            "span.track",
            { "aria-hidden": "true" },
            h("i", { style: { left: share(row.from), width: share(row.size) } }),
          ),
          h("span.figure", {}, row.value),
        ),
      ),
    ),
  );
}

const armName = (arm) => t(`arm.${arm}`);

/** What went into the block, and what was left out, in the order of the ranking. */
export function candidateLists(trace) {
  const shown = trace.candidates.filter((each) => each.outcome === "shown");
  const others = trace.candidates.filter((each) => each.outcome !== "shown");
  const hidden = trace.found - trace.candidates.length;
  return [
    h("h2", {}, t("trace.in", { n: shown.length })),
    shown.length ? list(shown) : h("p.quiet", {}, t("context.nothing")),
    others.length > 0 && [h("h2", {}, t("trace.out", { n: others.length })), list(others)],
    hidden > 0 && h("p.quiet", {}, t("trace.more", { n: hidden })),
  ];
}

const list = (candidates) => h("ol.candidates", {}, candidates.map(candidateRow));

/** A candidate: its rank, its text, what happened to it, and the reasons. */
function candidateRow(each) {
  const href = each.kind === "message" ? null : memoryLink(each.id);
  const text = each.text ?? t("trace.gone");
  return h(
    "li.candidate",
    { class: each.outcome === "shown" ? "is-shown" : "", dataset: { id: each.id, outcome: each.outcome } },
    h("span.rank", { title: t("trace.rank") }, each.rank ?? "–"),
    h(
      "div",
      {},
      href && each.text !== null
        ? h("a.memory-text", { href, dir: "auto" }, text)
        : h("span.memory-text", { dir: "auto", class: each.text === null ? "quiet" : "" }, text),
      h(
        "div.marks",
        {},
        h("span.outcome", { title: t(`outcome.why.${each.outcome}`) }, t(`outcome.${each.outcome}`)),
        kindChip(each.kind),
        isAlwaysShown(each) ? h("span", {}, t("trace.always")) : strength(each),
        each.changed && chip(t("trace.changed"), { class: "retired" }),
        each.repeats && h("a", { href: memoryLink(each.repeats) }, t("trace.repeats")),
      ),
      each.why.length > 0 && h("details.why", {}, h("summary", {}, t("why.title")), reasons(each)),
    ),
  );
}

/** A pinned memory is in every block: no search found it, so its score says nothing. */
const isAlwaysShown = (each) => each.outcome === "shown" && !each.why.length;

const isKnown = (value) => value !== null && value !== undefined;

const strength = ({ score, margin }) => [
  isKnown(score) && h("span.total", { title: t("why.total") }, meter(score, t("why.total")), h("b", {}, figure(score))),
  isKnown(margin) && h("span", {}, t(margin < 0 ? "trace.below" : "trace.margin", { value: figure(Math.abs(margin)) })),
];
