// Rows and cards for memories, hits and messages, shared by all views.

import { h, icon, replace } from "./dom.js";
import { dateTime, fullDay, named, number, t } from "./i18n.js";
import { chip, kindChip, meter, serverText, when } from "./ui.js";
import { part } from "./api.js";
import { nextChat } from "./known.js";
import { settings } from "./settings.js";

export const memoryLink = (id) => `#/memories/${part(id)}`;
export const sessionLink = (id, message = null) => `#/sessions/${part(id)}${message ? `?m=${part(message)}` : ""}`;

/** A note on the chat model that was chosen for the next start. It is empty if there is none. */
export function nextChatNote() {
  const box = h("div");
  nextChat().then((name) => name && replace(box, h("p.note-box.next-model", {}, t("noModel.next", { name }))));
  return box;
}

/** The chips under a memory's text. */
export function marks(memory, ...more) {
  return h(
    "div.marks",
    {},
    kindChip(memory.kind),
    memory.key && chip(memory.key, { class: "key", title: t("memory.key") }),
    memory.topic && chip(memory.topic, { class: "topic", title: t("memory.topic") }),
    memory.app && memory.app !== settings.app && chip(memory.app, { class: "app", title: t("memory.app") }),
    memory.user && memory.user !== settings.user && chip(memory.user, { class: "user", title: t("memory.user") }),
    memory.pinned && h("span.pinned", { title: t("memory.pinned") }, icon("pin", 14)),
    memory.status && memory.status !== "live" && chip(named("status", memory.status), { class: "retired" }),
    memoryTime(memory),
    more,
  );
}

const DAY = 86400000;

/** When a memory was changed; for one that was learned from an older conversation, since when it is true. */
function memoryTime(memory) {
  const since = memory.valid_from;
  if (!since || Date.parse(memory.created_at) - Date.parse(since) < DAY)
    return when(memory.updated_at ?? memory.created_at);
  return h("time", { datetime: since, title: dateTime(since) }, t("lives.since", { from: fullDay(since) }));
}

/** The speaker of a message: the name, or the role. */
export function speaker(message) {
  return message.speaker || (message.role === "user" && message.user) || named("speaker", message.role);
}

/** A memory as a row of a list, linked to its page. */
export function memoryRow(memory, { href = memoryLink(memory.id), chosen = false } = {}) {
  return h(
    "a.row.memory-row",
    {
      href,
      "data-row": true,
      dataset: { id: memory.id },
      class: memory.status === "live" ? "" : "is-retired",
      "aria-current": chosen ? "true" : null,
    },
    h("span.memory-text", { dir: "auto" }, memory.text),
    marks(memory),
  );
}

/** The reasons for a hit: each arm with its rank and score. */
export function reasons(hit) {
  if (!hit.why?.length) return h("p.note", {}, t("why.always"));
  return h(
    "ul.reasons",
    {},
    hit.why.map((reason) =>
      h(
        "li",
        { title: t("why.explained", { arm: named("arm.means", reason.arm), rank: reason.rank }) },
        h("span.arm", {}, named("arm", reason.arm)),
        h("span.rank", {}, `#${reason.rank}`),
        meter(reason.score, t("why.score", { score: number(reason.score, { maximumFractionDigits: 2 }) })),
        h("span.figure", {}, number(reason.score, { minimumFractionDigits: 2, maximumFractionDigits: 2 })),
      ),
    ),
  );
}

/** A link to the source of a hit: the session of a message, or the memory's page. */
function origin(hit) {
  if (hit.message) {
    return h(
      "a.source",
      { href: sessionLink(hit.message.session, hit.message.id) },
      icon("sessions", 14),
      h("span", {}, t("hit.said", { who: speaker(hit.message), when: dateTime(hit.at) })),
    );
  }
  const count = hit.memory?.sources?.length ?? 0;
  return h(
    "a.source",
    { href: memoryLink(hit.id) },
    icon("memories", 14),
    h(
      "span",
      {},
      count
        ? t("hit.learntFrom", { n: count })
        : t(`hit.${["explicit", "import", "file"].includes(hit.memory?.origin) ? hit.memory.origin : "auto"}`),
    ),
  );
}

/** A hit with its score, its reasons and its source. */
export function hitCard(hit, { open = true } = {}) {
  const score = number(hit.score, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return h(
    "article.hit",
    {},
    hit.asked && h("p.note", { dir: "auto" }, t("hit.asked", { question: hit.asked })),
    h("p.memory-text", { dir: "auto" }, hit.text),
    h(
      "div.marks",
      {},
      kindChip(hit.kind),
      hit.memory?.key && chip(hit.memory.key, { class: "key" }),
      hit.memory?.pinned && h("span.pinned", {}, icon("pin", 14)),
      when(hit.at),
      h("span.total", { title: t("why.total") }, meter(hit.score, t("why.score", { score })), h("b", {}, score)),
    ),
    hit.successor &&
      h("p.successor", {}, t("hit.successor"), " ", h("a", { href: memoryLink(hit.successor.id) }, hit.successor.text)),
    Boolean(hit.later?.length) && h("p.successor", { dir: "auto" }, t("hit.later"), " ", hit.later.join("; ")),
    h(
      "details.why",
      { open },
      h("summary", {}, t("why.title")),
      reasons(hit),
      hit.similarity !== null &&
        hit.similarity !== undefined &&
        h("p.note", {}, t("why.similarity", { value: number(hit.similarity, { maximumFractionDigits: 3 }) })),
      origin(hit),
    ),
  );
}

/** A context block with its hits, and the hits that it does not show, by reason. */
export function contextPanel(context) {
  const hits = context.hits ?? [];
  const leftOut = context.left_out ?? [];
  return h(
    "div.context",
    {},
    h("p.note", {}, t("context.summary", { n: hits.length }), " · ", t("context.tokens", { n: context.tokens ?? 0 })),
    notices(context),
    hits.length
      ? h(
          "div.hits",
          {},
          hits.map((hit, index) => hitCard(hit, { open: index < 3 })),
        )
      : h("p.quiet", {}, t("context.nothing")),
    ["budget", "limit", "floor", "origin"].map((reason) =>
      notShown(
        reason,
        leftOut.filter((hit) => hit.left_out_by === reason),
      ),
    ),
    h(
      "details.told",
      {},
      h("summary", {}, t("context.text")),
      context.text ? told(context) : h("p.quiet", {}, t("context.empty")),
    ),
  );
}

/** The hits that a block left out for one reason. */
function notShown(reason, hits) {
  if (!hits.length) return null;
  return h(
    "details",
    {},
    h("summary", {}, t(`context.leftOut.${reason}`, { n: hits.length })),
    h(
      "div.hits",
      {},
      hits.map((hit) => hitCard(hit, { open: false })),
    ),
  );
}

/** What the recall did without, such as search by meaning. */
export function notices(found) {
  return (found.notices ?? []).map((notice, index) =>
    h("p.notice", { role: "status" }, icon("warn", 16), serverText(notice, found.notice_codes?.[index])),
  );
}

/** The text of a context block, with its stable and changing parts separated. */
export function told(context) {
  const parts = [
    ["stable", context.stable],
    ["changing", context.changing],
  ].filter(([, text]) => text?.trim());
  if (!parts.length) return h("pre.block", { tabindex: "0" }, context.text);
  return h(
    "div.blocks",
    {},
    parts.map(([name, text]) => [
      h("span.block-name", {}, t(`context.${name}`)),
      h("pre.block", { tabindex: "0" }, text),
    ]),
  );
}
