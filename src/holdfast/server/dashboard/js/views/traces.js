// Traces: how each context block was built. A list, and the page of one trace.

import { get, getHere, part } from "../api.js";
import { h, icon } from "../dom.js";
import { dateTime, number, t } from "../i18n.js";
import { memoryLink, notices, reasons, sessionLink } from "../parts.js";
import { chip, empty, endless, head, kindChip, link, load, when } from "../ui.js";

export const traceLink = (id) => `#/traces/${part(id)}`;
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

/** The numbers of a trace: tokens, candidates by search method, and times. */
function figures(trace) {
  const arms = Object.entries(trace.arms ?? {});
  const steps = Object.entries(trace.steps ?? {}).filter(([, value]) => value >= 0.05);
  const rows = [
    [t("trace.tokens"), t("trace.tokensOf", { n: number(trace.tokens), max: number(trace.max_tokens) })],
    [t("trace.found"), [number(trace.found), " ", arms.map(([arm, n]) => chip(`${armName(arm)} ${number(n)}`))]],
    [
      t("trace.time"),
      [ms(trace.milliseconds), " ", steps.map(([step, n]) => chip(`${t(`trace.step.${step}`)} ${ms(n)}`))],
    ],
    [t("trace.preset"), [trace.preset, trace.embedder || t("trace.noEmbedder")].join(" · ")],
  ];
  return h(
    "dl.facts",
    {},
    rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
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
        each.score !== null && each.score !== undefined && h("span", {}, t("why.score", { score: figure(each.score) })),
        each.margin !== null &&
          each.margin !== undefined &&
          h("span", {}, t("trace.margin", { value: figure(each.margin) })),
        each.changed && chip(t("trace.changed"), { class: "retired" }),
        each.repeats && h("a", { href: memoryLink(each.repeats) }, t("trace.repeats")),
      ),
      each.why.length > 0 && h("details.why", {}, h("summary", {}, t("why.title")), reasons(each)),
    ),
  );
}

/** The ids of the traces of a session, by the message that was the question. */
export async function tracesOf(session, signal) {
  try {
    const { items } = await get("/v1/traces", { session, limit: 500 }, signal);
    return new Map(items.filter((each) => each.message).map((each) => [each.message, each.id]));
  } catch {
    return new Map(); // a conversation is shown without its traces
  }
}

/** A link to a trace, next to a message. */
export const traceChip = (id) =>
  id
    ? h("a.recalled", { href: traceLink(id), dataset: { action: "trace" } }, icon("search", 15), t("trace.open"))
    : null;
